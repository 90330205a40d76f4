//! Filters, boosts and counts of stored fields, and pins.

use std::path::Path;

use clickvec::model::Model;
use clickvec::tables::Title;
use clickvec_index::IndexBuilder;
use serde_json::{Value, json};

use crate::harness::{ADMIN, SHOES, Service, with_admin};

/// Writes an index whose titles store a brand and a price.
fn write(path: &Path) {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/frozen/format-1/lstm.safetensors");
    let model = Model::load(&model).unwrap();
    let mut builder = IndexBuilder::with_fields(&model, path, &["brand", "price"].map(str::to_owned)).unwrap();
    let brands = ["Déwalt", "DEWALT", "acme", "acme", "acme", ""];
    for (number, ((id, title), brand)) in SHOES.iter().zip(brands).enumerate() {
        let price = format!("{}.50", 10 * number);
        builder.add_with_fields(Title { id: (*id).to_owned(), title: (*title).to_owned() }, &[brand, &price]).unwrap();
    }
    clickvec_index::finish(builder, &model, &Default::default(), Default::default()).unwrap();
}

fn ids(answer: &Value) -> Vec<&str> {
    answer["results"].as_array().unwrap().iter().map(|hit| hit["id"].as_str().unwrap()).collect()
}

#[test]
fn conditions_boosts_and_counts_by_address_and_body() {
    let service = Service::with(|config, _| write(&config.indexes[0].1));
    let got = service.get("/search?q=leather+sofa&filter=brand:dewalt,price%3C10.5&min_confidence=0").is(200);
    assert_eq!((ids(&got), &got["total"], &got["facets"]), (vec!["t1"], &json!(1), &Value::Null), "{got}");
    let got = service.get("/search?q=leather+sofa&facet=brand&facet=price&min_confidence=0").is(200);
    let values = json!([{"value": "acme", "titles": 3}, {"value": "DEWALT", "titles": 2}]);
    let brand = json!({"field": "brand", "values": values, "distinct": 2, "range": null});
    assert_eq!(got["facets"][0], brand, "{got}");
    assert_eq!((&got["facets"][1]["range"], &got["facets"][1]["distinct"]), (&json!([0.5, 50.5]), &json!(6)));
    let got = service.get("/search?q=leather+sofa&mode=vectors&boost=price:9").is(200);
    assert_eq!((ids(&got)[0], &got["results"][0]["boost"]), ("t6", &json!(7.5)));
    let body =
        json!({"query": "leather sofa", "mode": "vectors", "boosts": ["price:9"], "filters": null, "facets": null});
    assert_eq!(service.post("/search", body.to_string()).is(200), got);
    for (wrong, param, text) in [
        ("boost=price", "boosts", "a boost, as `popularity:0.2`"),
        ("boost=colour:1", "boosts", "a stored field"),
        ("boost=brand:1", "boosts", "a field with numbers"),
        ("facet=colour", "facets", "a stored field of the index (`brand`, `price`), found `colour`"),
        ("filter=price%3Cx", "filters", "a condition"),
    ] {
        let reply = service.get(&format!("/search?q=sofa&{wrong}"));
        reply.refuses(422, text);
        assert_eq!(reply.json()["error"]["param"], param, "{wrong}");
    }
}

#[test]
fn pins_are_read_anew_with_the_indexes() {
    let table = |service: &Service, text: &str| std::fs::write(service.path("pins.tsv"), text).unwrap();
    let service = with_admin(|config| {
        let path = config.indexes[0].1.with_file_name("pins.tsv");
        std::fs::write(&path, "query\tid\trank\nLéather Sofas!\tt5\t1\nleather sofas\tt1\tblock\n").unwrap();
        config.pins = Some(path);
    });
    let found = |query: &str| service.get(&format!("/search?q={query}&min_confidence=0")).is(200);
    let pinned = found("leather+sofas");
    assert_eq!((ids(&pinned)[0], &pinned["results"][0]["pinned"]), ("t5", &json!(true)));
    assert!(!ids(&pinned).contains(&"t1") && pinned["total"] == 5, "{pinned}");
    assert_eq!(ids(&found("leather+sofa"))[0], "t1");
    let batch = service.post("/search", r#"{"queries":["sofa","leather sofas"],"min_confidence":0}"#).is(200);
    assert_eq!(batch["answers"][1], pinned);
    let reload = || service.ask("POST", "/admin/reload", &[ADMIN], b"");
    for (wrong, told) in [
        ("query\tid\trank\nsofa\tt5\t0\n", "pins.tsv:2: expected a rank, counted from 1, or `block`, found `0`"),
        ("query\tid\nsofa\tt5\n", "rank"),
    ] {
        table(&service, wrong);
        reload().refuses(409, told);
        assert_eq!(found("leather+sofas"), pinned, "the pins before stay");
    }
    table(&service, "query\tid\trank\n");
    assert_eq!(reload().is(200)["indexes"][0]["result"], "unchanged");
    assert_eq!(ids(&found("leather+sofas"))[0], "t1");
    assert!(service.stop().contains(r#""event":"pins","queries":0"#));
    let refused = Service::try_with(|config, folder| config.pins = Some(folder.join("none.tsv")));
    assert!(refused.err().unwrap().to_string().contains("none.tsv"));
}
