//! Personal data that is removed, and similar texts that stay.

use rustix::time::{ClockId, clock_gettime};
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory as _};

use super::plain::digit;
use super::*;

fn cut(text: &str) -> (String, [u64; 3]) {
    let mut query = text.to_owned();
    let removed = remove_personal(&mut query);
    (query, [removed.emails, removed.phones, removed.cards])
}

#[test]
fn what_is_personal_is_cut_out() {
    for (text, left, counts) in [
        ("jane.doe@example.com", "", [1, 0, 0]),
        ("order of jane.doe+1@mail.example.co.uk.", "order of .", [1, 0, 0]),
        ("a@b.de c@d.org shoes", "shoes", [2, 0, 0]),
        ("call +49 30 1234567 now", "call now", [0, 1, 0]),
        ("004930123456", "", [0, 1, 0]),
        ("(555) 234-5678", "", [0, 1, 0]),
        ("1-555-234-5678 shoes", "shoes", [0, 1, 0]),
        ("555.234.5678", "", [0, 1, 0]),
        ("5552345678", "", [0, 1, 0]),
        ("030 1234567", "", [0, 1, 0]),
        ("01 23 45 67 89", "", [0, 1, 0]),
        ("4111 1111 1111 1111", "", [0, 0, 1]),
        ("visa 4111111111111111 x", "visa x", [0, 0, 1]),
        ("5500-0000-0000-0004", "", [0, 0, 1]),
        ("340000000000009", "", [0, 0, 1]),
        ("me@example.com 4111111111111111 555-234-5678", "", [1, 1, 1]),
        ("grün@größe.de", "", [1, 0, 0]),
        ("tel+49301234567x", "tel x", [0, 1, 0]),
        ("€4111111111111111", "", [0, 0, 1]),
        ("nr4111111111111111b", "nr b", [0, 0, 1]),
        ("4111.1111.1111.1111", "", [0, 0, 1]),
        ("(555) a@b.de 234-5678", "", [1, 1, 0]),
        ("<jane@example.com>!", "", [1, 0, 0]),
        ("jane@ example.com", "", [1, 0, 0]),
        ("mail jane @example.com.", "mail .", [1, 0, 0]),
        ("mail jane @ mail.example.co.uk now", "mail now", [1, 0, 0]),
        ("a@b.de @ c.org shoes", "@ c.org shoes", [1, 0, 0]),
        ("(555)2345678", "", [0, 1, 0]),
        ("555-2345678", "", [0, 1, 0]),
        ("1 (800)2345678 x", "x", [0, 1, 0]),
        ("4111 - 1111 - 1111 - 1111", "", [0, 0, 1]),
        ("4111/1111/1111/1111", "", [0, 0, 1]),
        ("4111_1111_1111_1111 x", "x", [0, 0, 1]),
        ("4222222222222", "", [0, 0, 1]),
        ("6759649826438453", "", [0, 0, 1]),
        ("5018 0000 0009", "5018 0000 0009", [0, 0, 0]),
        ("هاتف ٠٣٠١٢٣٤٥٦٧ قلم", "هاتف قلم", [0, 1, 0]),
        ("گوشی ۰۹۱۲۳۴۵۶۷۸۹", "گوشی", [0, 1, 0]),
        ("+९१ ९८७६५ ४३२१० जूते", "जूते", [0, 1, 0]),
        ("é ٤١١١ ١١١١ ١١١١ ١١١١ é", "é é", [0, 0, 1]),
        ("\"jane doe\"@example.com shoes", "shoes", [1, 0, 0]),
        ("mail \"jane.doe\" @ example.com", "mail", [1, 0, 0]),
        ("jane\"@example.com", "", [1, 0, 0]),
        ("“jane doe”@example.com", "", [1, 0, 0]),
        ("jane@@example.com", "", [1, 0, 0]),
        ("to jane @@@ example.com now", "to now", [1, 0, 0]),
        ("jane@example. com", "", [1, 0, 0]),
        ("jane@example .com shoes", "shoes", [1, 0, 0]),
        ("jane@example . com.", "", [1, 0, 0]),
        ("jane@mail,com", "", [1, 0, 0]),
        ("jane @ example. de red", "red", [1, 0, 0]),
        ("jane%40example.com", "", [1, 0, 0]),
        ("x jane%40example%2Ecom y", "x y", [1, 0, 0]),
        ("jane&#64;example.com", "", [1, 0, 0]),
        ("jane(at)example.com", "", [1, 0, 0]),
        ("jane [at] example [dot] com shoes", "shoes", [1, 0, 0]),
        ("jane@[192.168.0.1]", "", [1, 0, 0]),
        ("jane.doe%2540example.com", "", [1, 0, 0]),
        ("สมชาย@ตัวอย่าง.ไทย", "", [1, 0, 0]),
        ("ராம்@எடுத்துக்காட்டு.இந்தியா", "", [1, 0, 0]),
        ("उपयोगकर्ता@उदाहरण.भारत जूते", "जूते", [1, 0, 0]),
        ("กี่@gmail.com", "", [1, 0, 0]),
        ("हिन्दी@gmail.com", "", [1, 0, 0]),
        ("jan\u{332}e@example.com", "", [1, 0, 0]),
        ("015112345678", "", [0, 1, 0]),
        ("0170123456781", "", [0, 1, 0]),
        ("4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", "", [0, 0, 1]),
        ("41 11 11 11 11 11 11 11", "", [0, 0, 1]),
        ("10 20 30 40 50 60 70 80", "10 20 30 40 50 60 70 80", [0, 0, 0]),
        ("jane.doe&#064;example.com", "", [1, 0, 0]),
        ("jane.doe@example。com", "", [1, 0, 0]),
        ("jane@my_company.com", "", [1, 0, 0]),
        ("«jane doe»@example.com", "", [1, 0, 0]),
        ("<jane doe>@example.com shoes", "shoes", [1, 0, 0]),
        ("'jane doe'@example.com", "", [1, 0, 0]),
        ("o’hara@example.com", "", [1, 0, 0]),
        ("jane@\"example.com", "", [1, 0, 0]),
        ("%2B49301234567", "", [0, 1, 0]),
        ("+49%2030%201234567", "", [0, 1, 0]),
        ("0049%2030%201234567 x", "x", [0, 1, 0]),
        ("555%2D234%2D5678", "", [0, 1, 0]),
        ("&#43;49301234567", "", [0, 1, 0]),
        ("089 12 34 56 78", "", [0, 1, 0]),
        ("0800 123 4567 89", "", [0, 1, 0]),
        ("０９０ー１２３４ー５６７８", "", [0, 1, 0]),
        ("03(1234)5678", "", [0, 1, 0]),
        ("4111%201111%201111%201111", "", [0, 0, 1]),
        ("4111%2D1111%2D1111%2D1111", "", [0, 0, 1]),
        ("4111&nbsp;1111&nbsp;1111&nbsp;1111", "", [0, 0, 1]),
        ("4111+1111+1111+1111", "", [0, 0, 1]),
        ("4111·1111・1111•1111", "", [0, 0, 1]),
        ("4111,1111,1111,1111", "", [0, 0, 1]),
        ("4111:1111:1111:1111", "", [0, 0, 1]),
        ("4111|1111|1111|1111", "", [0, 0, 1]),
        ("4111–1111–1111–1111", "", [0, 0, 1]),
        ("コーヒー 10-20, 30:40 5,000,000", "コーヒー 10-20, 30:40 5,000,000", [0, 0, 0]),
        ("100,200,300,400,500 screws", "100,200,300,400,500 screws", [0, 0, 0]),
        ("٣ jane%40example.com ٣", "٣ ٣", [1, 0, 0]),
        ("4111--1111--1111--1111", "", [0, 0, 1]),
        ("4111 -- 1111 -- 1111 -- 1111 x", "x", [0, 0, 1]),
        ("4111  1111  1111  1111", "", [0, 0, 1]),
        ("4111..1111..1111..1111", "", [0, 0, 1]),
        ("555_234_5678", "", [0, 1, 0]),
        ("1_555_234_5678 x", "x", [0, 1, 0]),
        ("+49_30_1234567", "", [0, 1, 0]),
        ("555--234--5678", "", [0, 1, 0]),
    ] {
        assert_eq!(cut(text), (left.to_owned(), counts), "{text}");
    }
}

#[test]
fn long_lines_take_no_longer_than_they_are_long() {
    for part in ["1 ", "a@", "a@b.de ", "12345 ", "+1-", "(1)", "@", "\"@", "a@b. ", "%40", "[at]", "4111--"] {
        let text = part.repeat(10_000);
        // The time of this thread alone, whatever else the machine does.
        let begun = clock_gettime(ClockId::ThreadCPUTime);
        cut(&text);
        assert!(clock_gettime(ClockId::ThreadCPUTime).tv_sec - begun.tv_sec < 3, "{part}");
    }
}

#[test]
fn digits_of_all_scripts() {
    let all = ('\u{80}'..=char::MAX).filter(|c| c.general_category() == GeneralCategory::DecimalNumber);
    let values: Vec<u32> = all.map(|c| digit(c).and_then(|digit| digit.to_digit(10)).unwrap()).collect();
    assert!(values.len() > 600);
    assert!(values.iter().enumerate().all(|(place, &value)| place as u32 % 10 == value), "each script has ten");
}

#[test]
fn what_is_sold_stays() {
    for text in [
        "2 shirts @ 3.99",
        "4 @ 12 v 1.5 a",
        "lego 4000_5000",
        "4006381333931 4012345678901",
        "5018374000088",
        "4006381000093",
        "١٢ قلم ٤١١١١١١١١١١١١١١٢",
        "جوتے ۴۲",
        "xbox 360 250gb",
        "4111111111111112",
        "4006381333931",
        "012345678905",
        "9780306406157",
        "978-3-16-148410-0",
        "ryzen 7 5800x 3d",
        "12 x 34 x 56 cm",
        "1 2 3 4 5 6 7 8 9 10",
        "b0000000001234567",
        "@home",
        "100% @ 5",
        "a@b",
        "192.168.100.100",
        "2024-05-17 2024-05-18",
        "1/4 3/8 5/16 7/16 9/16",
        "100%40 cotton",
        "60%40%2e polyester",
        "table (at)tached lamp",
        "2 @@ 3.99",
        "2 @ 3, 99",
        "size 9 @home. then more",
        "\"5 inch\" @ 3.99",
        "jbl_2024_05_17",
        "010_123456",
        "4000_5000_6000",
        "12--34--56",
        "",
    ] {
        assert_eq!(cut(text), (text.to_owned(), [0, 0, 0]), "{text}");
    }
}
