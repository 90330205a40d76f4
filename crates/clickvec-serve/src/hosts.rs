//! The names that a service goes by.
//!
//! The page of another site can let its own name point to this machine after it was loaded (DNS rebinding). A browser then
//! takes the service for a part of that site, and the page may read and post everything. But the browser still sends the
//! name that it was given, in the header Host. A number is no name, so it cannot be made to point elsewhere.

use std::net::IpAddr;

use crate::error::{Result, setting};
use crate::fault::quoted;

/// A name is at most this long.
const LONGEST: usize = 253;

/// The names that requests may be sent to.
pub(crate) struct Hosts {
    names: Vec<String>,
    is_open: bool,
}

impl Hosts {
    /// Takes these names, besides `localhost` and numbers. Without any, a service that others can reach takes every name, because
    /// a proxy in front of it knows its own.
    ///
    /// # Errors
    ///
    /// A name that is invalid.
    pub(crate) fn new(names: &[String], is_public: bool) -> Result<Hosts> {
        let is_part = |part: &str| {
            !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        };
        for name in names {
            if name.len() > LONGEST || !name.split('.').all(is_part) {
                return Err(setting("a name without scheme, port or path, as `search.example`", quoted(name)));
            }
        }
        let names: Vec<String> = names.iter().map(|name| name.to_ascii_lowercase()).collect();
        Ok(Hosts { is_open: is_public && names.is_empty(), names })
    }

    /// Returns whether a request with this header is for this service.
    pub(crate) fn has(&self, host: &str) -> bool {
        let name = without_port(host).to_ascii_lowercase();
        let name = name.strip_suffix('.').unwrap_or(&name);
        let is_number = || name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().is_ok();
        let is_local = || name == "localhost" || name.ends_with(".localhost");
        self.is_open || is_local() || is_number() || self.names.iter().any(|known| known == name)
    }
}

/// Returns a host without its port.
pub(crate) fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        // The colons of an address in brackets are its own.
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_localhost_and_names_that_were_given() {
        let hosts = Hosts::new(&["Search.example".to_owned()], false).unwrap();
        for host in [
            "127.0.0.1",
            "127.0.0.1:7700",
            "[::1]",
            "[::1]:7700",
            "localhost",
            "LOCALHOST:80",
            "shop.localhost:7700",
            "10.1.2.3:7700",
            "search.example",
            "search.example:443",
            "SEARCH.example.",
            "localhost.",
        ] {
            assert!(hosts.has(host), "{host}");
        }
        for host in [
            "",
            ":7700",
            "evil.example",
            "evil.example:7700",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "notlocalhost",
            "search.example.evil",
            "xsearch.example",
            "127.0.0.1:7700@evil.example",
            "1",
            "[::1].evil.example",
            "localhost:7700.evil.example",
            "search.example:x",
        ] {
            assert!(!hosts.has(host), "{host}");
        }
    }

    #[test]
    fn a_public_service_without_names_takes_all() {
        assert!(Hosts::new(&[], true).unwrap().has("any.example"));
        assert!(!Hosts::new(&["one.example".to_owned()], true).unwrap().has("any.example"));
        for name in
            ["", "https://shop.example", "shop.example:443", "a b", "shop..example", "é.example", &"a".repeat(300)]
        {
            assert!(Hosts::new(&[name.to_owned()], false).is_err(), "{name}");
        }
    }
}
