//! Topics in all forms.

use super::*;

fn read(text: &str) -> Result<Vec<Topic>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("topics");
    std::fs::write(&path, text).unwrap();
    read_topics(&path, &mut TopicCounts::default())
}

fn pairs(text: &str) -> Vec<(String, String)> {
    read(text).unwrap().into_iter().map(|topic| (topic.id, topic.text)).collect()
}

fn message(text: &str) -> String {
    let message = read(text).unwrap_err().to_string();
    message.split_once("topics").unwrap().1.to_owned()
}

fn expected(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(id, text)| ((*id).to_owned(), (*text).to_owned())).collect()
}

#[test]
fn tables_with_and_without_a_header() {
    let both = expected(&[("1", "red shoes"), ("ü2", "sofa, 6 ft.")]);
    assert_eq!(pairs("1\tred shoes\n\nü2\tsofa, 6 ft.\n"), both);
    assert_eq!(pairs("\u{feff}1\tred shoes\r\nü2\tsofa, 6 ft.\r\n"), both);
    assert_eq!(pairs("qid\tquery\n1\tred shoes\nü2\tsofa, 6 ft."), both);
    assert_eq!(pairs("\u{feff}Query\tx\tquery_id\nred shoes\t\t1\nsofa, 6 ft.\t\tü2"), both);
}

#[test]
fn json_lines() {
    let text = "{\"_id\":\"1\",\"text\":\"red\\nshoes\",\"metadata\":{}}\r\n\n{\"_id\":2,\"text\":\"sofa\"}\n";
    assert_eq!(pairs(text), expected(&[("1", "red shoes"), ("2", "sofa")]));
    assert!(message("{\"_id\":\"1\",\"text\":\"a\"}\n{\n").starts_with(":2: expected a JSON object, found"));
    assert!(message("{\"_id\":\"1\"}\n").starts_with(":1: expected a text, found nothing"));
}

#[test]
fn topics_as_trec_wrote_them_first() {
    let text = "<top>\n<head> Tipster Topic Description\n<num> Number:  051\n<dom> Domain:  Law\n\
                <title> Topic:  Airbus\n  Subsidies &amp; AT&T\n\n<desc> Description:\nA <title> is none.\n</top>\n\n\
                <top>\n\n<num> Number: 301 \n<title> International Organized Crime \n\n<desc> Description: \nx < y\n\
                <narr> Narrative: \nz\n</top>";
    // The second title of a topic is ignored.
    let both = [("051", "Airbus Subsidies & AT&T"), ("301", "International Organized Crime")];
    assert_eq!(pairs(text), expected(&both));
    assert_eq!(pairs(&format!("\u{feff}{}", text.replace('\n', "\r\n"))), expected(&both));
}

#[test]
fn topics_in_xml() {
    let text = "<?xml version=\"1.0\"?>\n<!-- <topic number=\"9\"> -->\n<topics task='x'>\n\
                <topic number=\"1\" type=\"faceted\">\n<query>obama <b>family</b> tree</query>\n<title>no</title>\n\
                <description>d</description><subtopic number=\"1\" type=\"nav\">e</subtopic></topic>\n\
                <topic id='2'><title>a &lt; b &amp;lt;</title></topic>\n\
                <topic><num>3</num><title>caf&#233; &#xFC;ber &eacute; &nosuch;</title></topic></topics>";
    assert_eq!(
        pairs(text),
        expected(&[("1", "obama family tree"), ("2", "a < b &lt;"), ("3", "café über é &nosuch;")])
    );
}

#[test]
fn each_fault_names_its_line() {
    assert!(message("1\ta\n1\tb\n").starts_with(":2: expected a new id, found `1`, which line 1 has"));
    assert!(message("1\ta\n2 b\n").starts_with(":2: expected 2 fields, `id, a tab, query`, found 1"));
    let query = message("john smith\tlamp\n");
    assert!(query.starts_with(":1: expected an id without white space, found one") && !query.contains("john"));
    assert!(message("1\ta\tb\n").starts_with(":1: expected 2 fields"));
    assert!(message("1\ta\n \tb\n").starts_with(":2: expected an id in column `query_id`, found nothing"));
    assert!(message("qid\tquery\n1\n").starts_with(":2: expected at least 2 columns, found 1"));
    for nothing in ["", "\n\n", "<topics></topics>", "qid\tquery\n"] {
        assert!(message(nothing).starts_with(": expected topics, found none"), "{nothing:?}");
    }
    let top = "<top>\n<num> 1\n<title> a\n</top>\n";
    assert!(message(&format!("{top}<top>\n<title> a\n</top>")).starts_with(":5: expected a number, `<num>`, in the"));
    assert!(message(&format!("{top}<top><num> 2 <title> </top>")).starts_with(":5: expected a query, `<title>` or"));
    assert!(message(&format!("{top}<top><num> 2 <title> a")).starts_with(":5: expected a closing tag"));
    assert!(message(&format!("{top}{top}")).starts_with(":5: expected a new id, found `1`"));
}

#[test]
fn nothing_makes_it_panic() {
    let pieces = [
        "<top>",
        "</top>",
        "<num>",
        " Number:",
        "1",
        "<title>",
        "</title>",
        "<",
        ">",
        "</",
        "<!--",
        "-->",
        "é",
        "<topic number='",
        "\"",
        "=",
        "&amp;",
        "&",
        "\n",
        "<b/>",
        "<q",
        "Topic:",
    ];
    // Pseudo-random numbers, the same every time.
    let mut state = 1u64;
    for _ in 0..20_000 {
        let mut text = String::from("<");
        for _ in 0..12 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text.push_str(pieces[(state >> 33) as usize % pieces.len()]);
        }
        let mut topics = Topics {
            path: Path::new("t"),
            topics: Vec::new(),
            lines: HashMap::new(),
            counts: &mut TopicCounts::default(),
        };
        let result = topics.tagged(text.as_bytes());
        assert!(result.is_err() || topics.topics.iter().all(|topic| !topic.id.is_empty() && !topic.text.is_empty()));
    }
}

#[test]
fn tagged_topics_must_be_utf_8() {
    let mut reader =
        Topics { path: Path::new("t"), topics: Vec::new(), lines: HashMap::new(), counts: &mut TopicCounts::default() };
    let fault = reader.tagged(&b"<top>\n<num> 1 <title> caf\xe9 </top>"[..]).unwrap_err();
    assert!(fault.to_string().starts_with("t:2: expected UTF-8, found another byte at position 20"), "{fault}");
}
