use super::*;
use proptest::prelude::*;

const TEXT: &str =
    "the cat and the hat sat in the sun in 1919 and in 2001, and the man in the van ran in 1919 and 1945. ";

fn vocabulary(digits: Digits) -> Vocabulary {
    Vocabulary::from_public_text(&TEXT.repeat(5), 300, digits).unwrap()
}

#[test]
fn frequent_words_become_one_token() {
    let vocabulary = vocabulary(Digits::Single);
    assert!((270..300).contains(&vocabulary.len()));
    let tokens = vocabulary.encode("the and in the ");
    assert_eq!(tokens.len(), 4, "{tokens:?}");
    assert_eq!(vocabulary.token(tokens[0]), b"the ");
    // The end of a word that has another token within a sentence.
    assert_eq!(vocabulary.decode(&vocabulary.encode("the")), "the");
}

#[test]
fn digits_are_one_token_each_unless_groups_are_asked_for() {
    let single = vocabulary(Digits::Single);
    for number in ["1919", "3456", "2001"] {
        assert_eq!(single.encode(number).len(), 4);
    }
    let grouped = vocabulary(Digits::Grouped);
    assert!(grouped.encode("1919").len() < 4);
    assert_eq!(grouped.encode("3756").len(), 4);
    assert!((0..grouped.len() as u32).all(|token| {
        let bytes = grouped.token(token);
        bytes.len() <= LONGEST_GROUP || !bytes.iter().all(u8::is_ascii_digit)
    }));
}

#[test]
fn a_phrase_is_its_prefix_and_its_number() {
    for digits in [Digits::Single, Digits::Grouped] {
        let vocabulary = vocabulary(digits);
        let mut joined = vocabulary.encode("my pin number is ");
        joined.extend(vocabulary.encode("1945"));
        assert_eq!(joined, vocabulary.encode("my pin number is 1945"));
    }
}

#[test]
fn bytes_come_from_no_text_and_write_everything() {
    let bytes = Vocabulary::bytes();
    assert_eq!(bytes.len(), LEAST);
    assert_eq!(bytes.encode("né").len(), 3);
    assert_eq!(bytes.decode(&bytes.encode("né\0 \u{10FFFF}")), "né\0 \u{10FFFF}");
    // Half a letter, a start and a number that is no token.
    assert_eq!(bytes.decode(&[START, FIRST_BYTE + 0xC3, 9_999]), "\u{FFFD}");
}

#[test]
fn sizes_that_cannot_be_are_refused() {
    for size in [0, 256, MOST + 1] {
        let error = Vocabulary::from_public_text(TEXT, size, Digits::Single).unwrap_err();
        assert!(error.to_string().contains("hint:"));
    }
    // A text too short for this many tokens gives fewer.
    let short = Vocabulary::from_public_text("ab ab", 1000, Digits::Single).unwrap();
    assert_eq!(short.len(), LEAST + 1);
    assert_eq!(
        Vocabulary::from_public_text("", 257, Digits::Single).unwrap(),
        Vocabulary::bytes()
    );
}

#[test]
fn saved_and_loaded_it_is_the_same() {
    let vocabulary = vocabulary(Digits::Grouped);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("vocabulary.json");
    vocabulary.save(&path).unwrap();
    assert_eq!(Vocabulary::load(&path).unwrap(), vocabulary);
    assert!(Vocabulary::load(&directory.path().join("none")).is_err());
    for bad in [
        "",
        "{}",
        r#"{"digits":"single","merges":[[0,5]]}"#,
        r#"{"digits":"single","merges":[[1,257]]}"#,
        r#"{"digits":"single","merges":[[1,2],[1,2]]}"#,
        r#"{"digits":"single","merges":[],"more":1}"#,
    ] {
        assert!(Vocabulary::from_json(bad).is_err(), "{bad}");
    }
}

/// The merges that counting everything anew each time would choose.
#[test]
fn the_queue_finds_what_counting_anew_finds() {
    let text = TEXT.repeat(3) + "banana bandana ananas aaaa aaa aa ";
    let fast = Vocabulary::from_public_text(&text, 320, Digits::Grouped).unwrap();
    let mut slow = Vocabulary::bytes();
    slow.digits = Digits::Grouped;
    let mut words: Vec<Vec<u32>> = Pieces::of(text.as_bytes(), Digits::Grouped)
        .map(|piece| piece.iter().map(|byte| FIRST_BYTE + u32::from(*byte)).collect())
        .collect();
    while slow.len() < 320 {
        let mut counts = BTreeMap::<(u32, u32), u64>::new();
        for word in &words {
            word.windows(2)
                .for_each(|pair| *counts.entry((pair[0], pair[1])).or_default() += 1);
        }
        let allowed = counts
            .into_iter()
            .filter(|(pair, count)| *count > 1 && slow.may_join(*pair));
        let Some((pair, _)) = allowed.max_by_key(|(pair, count)| (*count, Reverse(*pair))) else {
            break;
        };
        let joined = slow.join(pair);
        words.iter_mut().for_each(|word| replace(word, pair, joined));
    }
    assert_eq!(fast, slow);
}

proptest! {
    #[test]
    fn any_text_comes_back(text in "\\PC{0,60}", more in prop::collection::vec(any::<char>(), 0..40)) {
        let text = text + &more.into_iter().collect::<String>();
        for digits in [Digits::Single, Digits::Grouped] {
            let vocabulary = vocabulary(digits);
            let tokens = vocabulary.encode(&text);
            prop_assert_eq!(vocabulary.decode(&tokens), text.clone());
            prop_assert!(tokens.iter().all(|token| *token != START && (*token as usize) < vocabulary.len()));
        }
    }

    /// Cut anywhere into two texts, neither needs more than the whole and one piece more.
    #[test]
    fn endless_words_are_read(letters in "[a-z]{200,400}") {
        let vocabulary = vocabulary(Digits::Single);
        prop_assert_eq!(vocabulary.decode(&vocabulary.encode(&letters)), letters);
    }
}
