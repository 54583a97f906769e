use super::*;
use proptest::prelude::*;
use serde_json::Value as Tree;

use crate::json::decode;

/// The document as serde_json would see it, read by the scanner alone.
fn tree(text: &[u8]) -> Scan<Tree> {
    let mut scanner = Scanner::new(text);
    match scanner.value()? {
        Value::Text(raw) => Ok(Tree::String(decode(raw).text.into_owned())),
        Value::Bare(raw) => Ok(serde_json::from_slice(raw).unwrap()),
        Value::Nested(raw) => {
            let mut inside = Scanner::new(raw);
            if inside.accept(b'[')? {
                let mut items = Vec::new();
                while inside.item()? {
                    items.push(next(&mut inside, raw)?);
                }
                return Ok(Tree::Array(items));
            }
            inside.expect(b'{', "an object")?;
            let mut members = serde_json::Map::new();
            while let Some(key) = inside.key()? {
                let value = next(&mut inside, raw)?;
                members.insert(decode(key).text.into_owned(), value);
            }
            Ok(Tree::Object(members))
        }
    }
}

fn next(scanner: &mut Scanner<'_>, whole: &[u8]) -> Scan<Tree> {
    scanner.peek()?;
    let start = scanner.at();
    scanner.value()?;
    // A bare value at the end of the bytes might go on: a blank after it tells.
    tree(&[&whole[start..scanner.at()], b" "].concat())
}

fn documents() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        Just(Tree::Null),
        any::<bool>().prop_map(Tree::from),
        any::<i64>().prop_map(Tree::from),
        any::<u64>().prop_map(Tree::from),
        (-1e300..1e300).prop_map(Tree::from),
        any::<String>().prop_map(Tree::from),
    ];
    leaf.prop_recursive(6, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Tree::from),
            prop::collection::vec((any::<String>(), inner), 0..8)
                .prop_map(|members| Tree::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn reads_what_serde_json_reads(document in documents(), pretty: bool) {
        let text = if pretty { serde_json::to_string_pretty(&document) } else { serde_json::to_string(&document) };
        let text = text.unwrap();
        let expected: Tree = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(tree(&[text.as_bytes(), b" "].concat()), Ok(expected));
    }

    #[test]
    fn a_cut_document_ends_and_is_never_broken(document in documents(), cut in 0.0..1.0) {
        let text = serde_json::to_string(&Tree::Array(vec![document])).unwrap();
        let cut = &text.as_bytes()[..(cut * text.len() as f64) as usize];
        prop_assert_eq!(Scanner::new(cut).value(), Err(Stop::End));
    }

    #[test]
    fn any_bytes_give_a_value_or_a_stop(bytes: Vec<u8>) {
        let mut scanner = Scanner::new(&bytes);
        let _ = scanner.value();
        let _ = scanner.key();
        let _ = scanner.item();
    }
}

#[test]
fn a_stray_quote_is_found_where_it_stands() {
    let text = br#"{"Call stack": "a {"device": "cpu"} b", "x": 1}"#;
    assert!(matches!(Scanner::new(text).value(), Err(Stop::Broken { at: 20, .. })));
}

#[test]
fn brackets_must_match_and_depth_is_bounded() {
    assert!(matches!(Scanner::new(b"[1, 2}").value(), Err(Stop::Broken { at: 5, .. })));
    let deep = [vec![b'['; 100_000], vec![b']'; 100_000]].concat();
    assert!(matches!(Scanner::new(&deep).value(), Err(Stop::Broken { at: 128, .. })));
    let legal = [vec![b'['; 128], vec![b']'; 128]].concat();
    assert_eq!(Scanner::new(&legal).value(), Ok(Value::Nested(&legal)));
}

#[test]
fn lenient_where_writers_are() {
    let text = b"{\"a\x01\xff\": -nan, \"b\": inf,, \"c\": [1,],}";
    let mut scanner = Scanner::new(text);
    assert!(scanner.accept(b'{').unwrap());
    assert_eq!(scanner.key(), Ok(Some(&b"a\x01\xff"[..])));
    assert_eq!(scanner.value(), Ok(Value::Bare(b"-nan")));
    assert_eq!(scanner.key(), Ok(Some(&b"b"[..])));
    assert_eq!(scanner.value(), Ok(Value::Bare(b"inf")));
    assert_eq!(scanner.key(), Ok(Some(&b"c"[..])));
    assert_eq!(scanner.value(), Ok(Value::Nested(b"[1,]")));
    assert_eq!(scanner.key(), Ok(None));
    assert_eq!(scanner.peek(), Err(Stop::End));
}

#[test]
fn members_are_taken_where_they_are_expected() {
    let text = b"\n    \"a\": 1, \"b\": 2,\n    \"c\": 3,\"d\": 4}";
    let mut scanner = Scanner::new(text);
    assert!(!scanner.begins_with(b"\"b\": "));
    assert!(scanner.begins_with(b"\"a\": "));
    assert_eq!(scanner.value(), Ok(Value::Bare(b"1")));
    assert!(scanner.goes_on_with(b"\"b\": "));
    assert_eq!(scanner.value(), Ok(Value::Bare(b"2")));
    assert!(scanner.goes_on_with(b"\"c\": "));
    assert_eq!(scanner.value(), Ok(Value::Bare(b"3")));
    assert!(!scanner.goes_on_with(b"\"d\": "));
    assert_eq!(scanner.key(), Ok(Some(&b"d"[..])));
    assert_eq!(scanner.leave_object(), Ok(()));
    assert_eq!(scanner.at(), text.len());
}
