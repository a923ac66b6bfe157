//! Options as words, in the way that EBNF writes them behind `%json`: `(compact, draft = "7")`.

use super::{Draft, JsonTypes, RootForm, SchemaOptions, Spelling, WhiteSpace};

/// The value of an option as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OptionValue {
    /// None: the word alone.
    Absent,
    /// A number.
    Count(u32),
    /// A quoted text.
    Text(String),
}

const DRAFTS: [(&str, Draft); 5] = [
    ("4", Draft::Draft4),
    ("6", Draft::Draft6),
    ("7", Draft::Draft7),
    ("2019-09", Draft::Draft2019),
    ("2020-12", Draft::Draft2020),
];

const TYPES: [(&str, JsonTypes); 6] = [
    ("null", JsonTypes::NULL),
    ("boolean", JsonTypes::BOOLEAN),
    ("number", JsonTypes::NUMBER),
    ("string", JsonTypes::STRING),
    ("array", JsonTypes::ARRAY),
    ("object", JsonTypes::OBJECT),
];

impl SchemaOptions {
    /// The words of all options, for messages.
    pub(crate) const WORDS: [&str; 19] = [
        "compact",
        "flexible",
        "indent",
        "item_separator",
        "key_separator",
        "no_additional_properties",
        "any_order",
        "excluded_text",
        "no_additional_items",
        "any_spelling",
        "no_formats",
        "integer_fractions",
        "lenient",
        "draft",
        "no_foreign_keywords",
        "nullable",
        "pointer",
        "root_type",
        "text_until",
    ];

    /// Returns the options that differ from the default, as words; nothing if some can't be written: a resolver, a base URI.
    pub(crate) fn to_words(&self) -> Option<Vec<(&'static str, OptionValue)>> {
        let mut words = Vec::new();
        let default = SchemaOptions::default();
        match &self.white_space {
            WhiteSpace::Compact => words.push(("compact", OptionValue::Absent)),
            white_space if *white_space == default.white_space => {}
            WhiteSpace::Flexible { run_max } => words.push(("flexible", OptionValue::Count(*run_max))),
            WhiteSpace::Indent { spaces } => words.push(("indent", OptionValue::Count(*spaces))),
            WhiteSpace::Separators { item, key } => {
                words.push(("item_separator", OptionValue::Text(item.to_string())));
                words.push(("key_separator", OptionValue::Text(key.to_string())));
            }
        }
        let excluded = self.excluded_texts.iter().map(|text| ("excluded_text", OptionValue::Text(text.to_string())));
        words.extend(excluded);
        let mut add = |word, is_set| words.extend(Some((word, OptionValue::Absent)).filter(|_| is_set));
        add("no_additional_properties", !self.has_additional_properties);
        add("any_order", self.has_any_order);
        add("no_additional_items", !self.has_additional_items);
        add("any_spelling", self.spelling == Spelling::Any);
        add("no_formats", !self.has_formats);
        add("integer_fractions", self.has_integer_fractions);
        add("lenient", self.is_lenient);
        add("no_foreign_keywords", !self.read.has_foreign_keywords);
        add("nullable", self.read.has_nullable);
        if self.read.draft != default.read.draft {
            let (name, _) = DRAFTS.iter().find(|(_, draft)| *draft == self.read.draft)?;
            words.push(("draft", OptionValue::Text((*name).to_owned())));
        }
        match &self.root {
            RootForm::Json => {}
            RootForm::JsonOf(types) => {
                let named = TYPES.iter().filter(|(_, one)| types.contains(*one));
                words.extend(named.map(|(name, _)| ("root_type", OptionValue::Text((*name).to_owned()))));
            }
            RootForm::Text { until } => words.push(("text_until", OptionValue::Text(until.to_string()))),
        }
        if !self.read.pointer.is_empty() {
            words.push(("pointer", OptionValue::Text(self.read.pointer.clone())));
        }
        let is_written = self.read.base_uri.is_empty() && std::sync::Arc::ptr_eq(&self.resolver, &default.resolver);
        is_written.then_some(words)
    }

    /// Sets an option by its word.
    ///
    /// # Errors
    /// If there is no such word, or its value is of another kind: what is wrong with it.
    pub(crate) fn set_word(&mut self, word: &str, value: OptionValue) -> Result<(), String> {
        let separators = |old: &WhiteSpace| match old {
            WhiteSpace::Separators { item, key } => (item.clone(), key.clone()),
            _ => (",".into(), ":".into()),
        };
        match (word, value) {
            ("compact", OptionValue::Absent) => self.white_space = WhiteSpace::Compact,
            ("flexible", OptionValue::Count(run_max)) => self.white_space = WhiteSpace::Flexible { run_max },
            ("indent", OptionValue::Count(spaces)) => self.white_space = WhiteSpace::Indent { spaces },
            ("item_separator", OptionValue::Text(item)) => {
                let (_, key) = separators(&self.white_space);
                self.white_space = WhiteSpace::Separators { item: item.into(), key };
            }
            ("key_separator", OptionValue::Text(key)) => {
                let (item, _) = separators(&self.white_space);
                self.white_space = WhiteSpace::Separators { item, key: key.into() };
            }
            ("no_additional_properties", OptionValue::Absent) => self.has_additional_properties = false,
            ("any_order", OptionValue::Absent) => self.has_any_order = true,
            ("no_additional_items", OptionValue::Absent) => self.has_additional_items = false,
            ("any_spelling", OptionValue::Absent) => self.spelling = Spelling::Any,
            ("no_formats", OptionValue::Absent) => self.has_formats = false,
            ("integer_fractions", OptionValue::Absent) => self.has_integer_fractions = true,
            ("lenient", OptionValue::Absent) => self.is_lenient = true,
            ("no_foreign_keywords", OptionValue::Absent) => self.read.has_foreign_keywords = false,
            ("nullable", OptionValue::Absent) => self.read.has_nullable = true,
            ("excluded_text", OptionValue::Text(text)) if text.is_empty() => {
                return Err("`excluded_text` is not empty".into());
            }
            // Each is one more.
            ("excluded_text", OptionValue::Text(text)) => self.excluded_texts.push(text.into()),
            ("pointer", OptionValue::Text(pointer)) => self.read.pointer = pointer,
            ("root_type", OptionValue::Text(name)) => {
                let found = TYPES.iter().find(|(known, _)| *known == name);
                let (_, one) = *found.ok_or_else(|| format!("there is no type `{name}`"))?;
                self.root = match &self.root {
                    RootForm::Json => RootForm::JsonOf(one),
                    // Each is one more.
                    RootForm::JsonOf(others) => RootForm::JsonOf(others.or(one)),
                    RootForm::Text { .. } => return Err("`text_until` allows no `root_type` beside it".into()),
                };
            }
            ("text_until", OptionValue::Text(until)) => {
                if until.is_empty() {
                    return Err("`text_until` is not empty".into());
                }
                if self.root != RootForm::Json {
                    return Err("`text_until` stands once, and allows no `root_type` beside it".into());
                }
                self.root = RootForm::Text { until: until.into() };
            }
            ("draft", OptionValue::Text(name)) => {
                let found = DRAFTS.iter().find(|(known, _)| *known == name);
                self.read.draft = found.ok_or_else(|| format!("there is no draft `{name}`"))?.1;
            }
            (word, _) if Self::WORDS.contains(&word) => {
                let kind = match word {
                    "flexible" | "indent" => "is followed by `=` and a number",
                    "item_separator" | "key_separator" | "draft" | "excluded_text" | "pointer" | "root_type"
                    | "text_until" => "is followed by `=` and a quoted text",
                    _ => "stands alone",
                };
                return Err(format!("`{word}` {kind}"));
            }
            (word, _) => return Err(format!("there is no option `{word}`")),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_the_options_again() {
        let mut all = SchemaOptions {
            white_space: WhiteSpace::Separators { item: ", ".into(), key: ": ".into() },
            has_additional_properties: false,
            has_any_order: true,
            excluded_texts: vec!["</a>".into(), "b".into()],
            has_additional_items: false,
            spelling: Spelling::Any,
            has_formats: false,
            has_integer_fractions: true,
            is_lenient: true,
            ..SchemaOptions::default()
        };
        all.read.draft = Draft::Draft2019;
        all.read.has_foreign_keywords = false;
        all.read.has_nullable = true;
        all.read.pointer = "/$defs/a".into();
        let roots = [
            RootForm::JsonOf(JsonTypes::ALL_BUT_STRING),
            RootForm::JsonOf(JsonTypes::STRING),
            RootForm::Text { until: "</a>".into() },
        ];
        let roots = roots.map(|root| SchemaOptions { root, ..SchemaOptions::default() });
        let others = [WhiteSpace::Compact, WhiteSpace::Flexible { run_max: 3 }, WhiteSpace::Indent { spaces: 2 }];
        let others = others.map(|white_space| SchemaOptions { white_space, ..SchemaOptions::default() });
        for options in others.into_iter().chain(roots).chain([all, SchemaOptions::default()]) {
            let mut again = SchemaOptions::default();
            for (word, value) in options.to_words().unwrap() {
                again.set_word(word, value).unwrap();
            }
            assert_eq!(again, options);
        }
        let mut options = SchemaOptions::default();
        assert_eq!(options.set_word("compact", OptionValue::Count(1)), Err("`compact` stands alone".into()));
        assert_eq!(options.set_word("draft", OptionValue::Text("3".into())), Err("there is no draft `3`".into()));
        let mut text = SchemaOptions::default();
        text.set_word("text_until", OptionValue::Text("<".into())).unwrap();
        for (word, value) in [("text_until", "<"), ("root_type", "null"), ("root_type", "integer")] {
            assert!(text.set_word(word, OptionValue::Text(value.into())).is_err());
        }
        assert!(SchemaOptions::default().set_word("text_until", OptionValue::Text(String::new())).is_err());
        options.read.base_uri = "http://example.com".into();
        assert_eq!(options.to_words(), None);
    }
}
