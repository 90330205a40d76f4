//! E-mail addresses, including mistyped ones.

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory as _};

/// The longest quoted local part (RFC 5321).
const MOST_QUOTED: usize = 64;
/// Characters that people type for a quote.
const QUOTES: [char; 11] = ['"', '“', '”', '„', '«', '»', '\'', '‘', '’', '<', '>'];

/// Domain endings before which people type a space or a comma, as in `jane@example. com`. Two letters are a country.
const TOPS: [&str; 13] =
    ["com", "net", "org", "edu", "gov", "info", "biz", "name", "mobi", "online", "shop", "store", "site"];

/// Finds addresses `local@domain.tld`. The local part has letters, digits and `.!#$%&'*+/=?^_{|}~-`, or is in quotes.
/// The domain has a dot in it, or is a number in brackets. There may be several `@`. There may be one space before and
/// after it if the domain ends in letters, and next to the last dot of the domain; that dot may then be a comma, if
/// the domain has a common ending.
pub(super) fn emails(text: &str, cut: &mut Vec<(usize, usize)>) {
    let mut next = 0;
    for (at, _) in text.match_indices('@') {
        if at < next {
            continue;
        }
        let signs = text[at..].bytes().take_while(|&byte| byte == b'@').count();
        next = at + signs;
        let user = text[..at].strip_suffix(' ').unwrap_or(&text[..at]);
        let host = text[next..].strip_prefix(' ').unwrap_or(&text[next..]);
        let host = host.strip_prefix(QUOTES).unwrap_or(host);
        let is_spaced = user.len() + signs + host.len() < text.len();
        let Some(length) = domain(host, is_spaced) else { continue };
        let (before, end) = (local(user), text.len() - host.len() + length);
        let start = user.len() - before;
        if before > 0 && cut.last().is_none_or(|&(_, end)| end <= start) {
            cut.push((start, end));
        }
    }
}

/// Returns whether a character is part of a word: letters, digits and the marks on them, without which no word of Hindi, Thai or
/// Tamil is whole, and characters that join two letters or keep them apart.
fn in_word(c: char) -> bool {
    c.is_alphanumeric()
        || !c.is_ascii()
            && (c.general_category_group() == GeneralCategoryGroup::Mark || matches!(c, '\u{200c}' | '\u{200d}'))
}

/// Returns the number of bytes at the end of a text that are the local part of an address.
fn local(text: &str) -> usize {
    if let Some(inside) = text.strip_suffix(QUOTES)
        && let Some(start) = inside.rfind(QUOTES)
        && inside[start..].chars().count() <= MOST_QUOTED + 1
        && inside[start..].contains(char::is_alphanumeric)
    {
        return text.len() - start;
    }
    let is_local = |c: &char| in_word(*c) || ".!#$%&'’*+/=?^_`{|}~-\"".contains(*c);
    let length = text.chars().rev().take_while(is_local).map(char::len_utf8).sum();
    // A lone quote is not a name.
    if text[text.len() - length..].chars().any(char::is_alphanumeric) { length } else { 0 }
}

/// Returns the number of bytes at the beginning of a text that are the domain of an address.
fn domain(text: &str, is_spaced: bool) -> Option<usize> {
    if let Some(inside) = text.strip_prefix('[') {
        // Domains such as `[192.168.0.1]` and `[IPv6:2001:db8::1]`.
        let length = inside.bytes().take_while(|&byte| byte.is_ascii_alphanumeric() || b".:".contains(&byte)).count();
        let is_address =
            inside[length..].starts_with(']') && inside[..length].bytes().any(|byte| byte.is_ascii_digit());
        return is_address.then_some(length + 2);
    }
    let length = labels(text);
    // A full stop at the end belongs to the sentence.
    let name = text[..length].trim_end_matches(['.', '-', '_']);
    let top = name.rsplit('.').next().unwrap_or_default();
    let is_word = top.chars().count() >= 2 && top.chars().all(|c| in_word(c) && !c.is_numeric());
    let has_dot = name.split_once('.').is_some_and(|(host, top)| !host.is_empty() && top.chars().count() >= 2);
    // `2 @ 3.99` is a price, not an address.
    if has_dot && (!is_spaced || is_word) {
        return Some(name.len());
    }
    let is_host = name.chars().any(char::is_alphabetic) && !name.starts_with(['.', '-']);
    (is_host && !has_dot).then(|| torn(text, name.len())).flatten()
}

/// Returns the end of a domain whose last dot has a space next to it or is a comma: `example. com`, `example ,com`.
fn torn(text: &str, name: usize) -> Option<usize> {
    let rest = &text[name..];
    let dot = rest.strip_prefix(' ').unwrap_or(rest).strip_prefix(['.', ','])?;
    let top = dot.strip_prefix(' ').unwrap_or(dot);
    let length: usize = top.chars().take_while(|c| in_word(*c) || *c == '-').map(char::len_utf8).sum();
    let word = &top[..length];
    let is_country = word.len() == 2 && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_top = is_country || TOPS.iter().any(|known| word.eq_ignore_ascii_case(known));
    is_top.then(|| text.len() - top.len() + length)
}

/// Returns the number of bytes at the beginning of a text that are letters, digits, dots, hyphens and underscores.
fn labels(text: &str) -> usize {
    text.chars().take_while(|c| in_word(*c) || ".-_".contains(*c)).map(char::len_utf8).sum()
}
