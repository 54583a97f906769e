//! Fields of a configuration, read by name and remembered.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::architecture::ArchitectureError;

/// No size of a model is larger.
const LARGEST: u64 = 1 << 26;

/// One configuration object, perhaps inside another.
pub(super) struct Config<'a> {
    name: &'a str,
    /// Where this object stands in the file: `text_config.`.
    path: String,
    fields: &'a Map<String, Value>,
    read: RefCell<BTreeSet<String>>,
    /// Numbers that the class takes where the file has none.
    defaults: Cell<&'static [(&'static str, u64)]>,
}

impl<'a> Config<'a> {
    pub fn new(name: &'a str, fields: &'a Map<String, Value>) -> Self {
        Self { name, path: String::new(), fields, read: RefCell::default(), defaults: Cell::default() }
    }

    /// Says what the class takes for numbers that the file leaves out.
    pub fn default_to(&self, numbers: &'static [(&'static str, u64)]) {
        self.defaults.set(numbers);
    }

    pub const fn name(&self) -> &str {
        self.name
    }

    /// An object inside this one.
    pub fn object(&self, field: &str) -> Result<Option<Config<'a>>, ArchitectureError> {
        match self.value(field) {
            None => Ok(None),
            Some(Value::Object(fields)) => {
                let path = format!("{}{field}.", self.path);
                Ok(Some(Config {
                    name: self.name,
                    path,
                    fields,
                    read: RefCell::default(),
                    defaults: Cell::default(),
                }))
            }
            Some(other) => Err(self.invalid(field, other, "an object")),
        }
    }

    /// Whether a field is there and not null.
    pub fn has(&self, field: &str) -> bool {
        self.fields.get(field).is_some_and(|value| !value.is_null())
    }

    /// A field that is not null.
    pub fn value(&self, field: &str) -> Option<&'a Value> {
        self.read.borrow_mut().insert(field.to_owned());
        self.fields.get(field).filter(|value| !value.is_null())
    }

    /// Fields that nobody has asked for, nulls left out.
    pub fn unread(&self) -> Vec<String> {
        let read = self.read.borrow();
        let unread = self.fields.iter().filter(|(field, value)| !value.is_null() && !read.contains(*field));
        unread.map(|(field, _)| field.clone()).collect()
    }

    pub fn number(&self, field: &str) -> Result<Option<u64>, ArchitectureError> {
        let Some(value) = self.value(field) else {
            let default = self.defaults.get().iter().find(|(name, _)| *name == field);
            return Ok(default.map(|(_, number)| *number));
        };
        let number = value.as_u64().or_else(|| whole(value)).filter(|number| *number <= LARGEST);
        number.map(Some).ok_or_else(|| self.invalid(field, value, &format!("a whole number up to {LARGEST}")))
    }

    /// The first of several names for one thing.
    pub fn either(&self, fields: &[&str]) -> Result<Option<u64>, ArchitectureError> {
        for field in fields {
            if let Some(number) = self.number(field)? {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    pub fn required(&self, field: &str) -> Result<u64, ArchitectureError> {
        self.required_of(&[field])
    }

    pub fn required_of(&self, fields: &[&str]) -> Result<u64, ArchitectureError> {
        self.either(fields)?.ok_or_else(|| self.missing(&fields.join("` or `"), "a whole number"))
    }

    pub fn or(&self, field: &str, default: u64) -> Result<u64, ArchitectureError> {
        Ok(self.number(field)?.unwrap_or(default))
    }

    pub fn flag(&self, field: &str, default: bool) -> Result<bool, ArchitectureError> {
        match self.value(field) {
            None => Ok(default),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(other) => Err(self.invalid(field, other, "true or false")),
        }
    }

    pub fn text(&self, field: &str) -> Result<Option<&'a str>, ArchitectureError> {
        match self.value(field) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.invalid(field, other, "a string")),
        }
    }

    pub fn texts(&self, field: &str) -> Result<Option<Vec<&'a str>>, ArchitectureError> {
        let Some(value) = self.value(field) else { return Ok(None) };
        let texts = value.as_array().and_then(|list| list.iter().map(Value::as_str).collect());
        texts.map(Some).ok_or_else(|| self.invalid(field, value, "a list of strings"))
    }

    pub fn numbers(&self, field: &str) -> Result<Option<Vec<u64>>, ArchitectureError> {
        let Some(value) = self.value(field) else { return Ok(None) };
        let numbers = value.as_array().and_then(|list| list.iter().map(Value::as_u64).collect());
        numbers.map(Some).ok_or_else(|| self.invalid(field, value, "a list of whole numbers"))
    }

    /// Refuses a field that changes FLOPs unless it is absent, null, or one of the values that do not.
    pub fn refuse_unless(
        &self,
        field: &str,
        harmless: impl Fn(&Value) -> bool,
        remedy: &'static str,
    ) -> Result<(), ArchitectureError> {
        match self.value(field) {
            Some(value) if !harmless(value) => Err(self.unsupported(field, value, remedy)),
            _ => Ok(()),
        }
    }

    /// Refuses a switch that is on.
    pub fn refuse_switch(&self, field: &str, remedy: &'static str) -> Result<(), ArchitectureError> {
        self.refuse_unless(field, |value| *value == Value::Bool(false), remedy)
    }

    pub fn unsupported(&self, field: &str, value: &Value, remedy: &'static str) -> ArchitectureError {
        ArchitectureError::Unsupported {
            name: self.name.to_owned(),
            field: self.at(field),
            value: brief(value),
            remedy,
        }
    }

    pub fn missing(&self, field: &str, expected: &'static str) -> ArchitectureError {
        ArchitectureError::Missing { name: self.name.to_owned(), field: self.at(field), expected }
    }

    pub fn invalid(&self, field: &str, value: &Value, expected: &str) -> ArchitectureError {
        ArchitectureError::Invalid {
            name: self.name.to_owned(),
            field: self.at(field),
            value: brief(value),
            expected: expected.to_owned(),
        }
    }

    fn at(&self, field: &str) -> String {
        format!("{}{field}", self.path)
    }
}

/// Numbers that a writer turned into floats: `4096.0`.
fn whole(value: &Value) -> Option<u64> {
    /// Beyond this a double no longer holds every integer.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let number = value.as_f64().filter(|number| number.fract() == 0.0 && (0.0..=EXACT).contains(number))?;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole and in range")]
    Some(number as u64)
}

/// A value short enough for a message.
fn brief(value: &Value) -> String {
    const LONGEST: usize = 60;
    let text = value.to_string();
    if text.chars().count() <= LONGEST {
        return text;
    }
    text.chars().take(LONGEST).chain(['…']).collect()
}
