//! Keyword arguments as options of the library.

use maskwright::frontend::regex::RegexOptions;
use maskwright::json_schema::{Draft, RootForm, SchemaOptions, Source, Spelling, WhiteSpace};
use maskwright::{CompileOptions, Limits};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping, PyString};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A flag that cancels compiles from another thread. It can't be taken back.
#[pyclass(frozen, weakref, module = "maskwright")]
#[derive(Default)]
pub struct CancelToken {
    flag: Arc<AtomicBool>,
}

#[pymethods]
impl CancelToken {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Makes every compile that has the token fail within some milliseconds, also those that begin later.
    fn cancel(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// Whether `cancel` was called.
    #[getter]
    fn is_cancelled(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }
}

/// Returns the options of one compile: `timeout` is in seconds from now, and one that is longer than a clock can tell is none.
///
/// # Errors
/// `ValueError` if the timeout is negative or no number.
pub fn compile_options(timeout: Option<f64>, cancel: Option<&Bound<'_, CancelToken>>) -> PyResult<CompileOptions> {
    let deadline = match timeout {
        None => None,
        Some(seconds) if seconds >= 0.0 => {
            Duration::try_from_secs_f64(seconds).ok().and_then(|duration| Instant::now().checked_add(duration))
        }
        Some(seconds) => return Err(PyValueError::new_err(format!("a timeout of {seconds} seconds is not from 0 on"))),
    };
    Ok(CompileOptions { deadline, cancelled: cancel.map(|token| Arc::clone(&token.get().flag)) })
}

/// Returns the options of a regular expression, whose flags are letters.
///
/// # Errors
/// `ValueError` for a letter that is none.
pub fn regex_options(flags: &str) -> PyResult<RegexOptions> {
    let mut options = RegexOptions::default();
    match flags.chars().find(|&flag| !options.set_flag(flag)) {
        None => Ok(options),
        Some(flag) => Err(PyValueError::new_err(format!("there is no flag {flag:?}: i, s, x, a, u or j"))),
    }
}

/// Returns JSON text: that of a string as it is, of a Pydantic model or `TypeAdapter` its schema, of anything else as `json.dumps` writes it.
///
/// # Errors
/// Those of `json.dumps`.
pub fn json_text(object: &Bound<'_, PyAny>) -> PyResult<String> {
    let py = object.py();
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(text.to_cow()?.into_owned());
    }
    let mut value = object.clone();
    for method in [intern!(py, "model_json_schema"), intern!(py, "json_schema")] {
        if !object.is_instance_of::<PyDict>()
            && let Some(schema) = object.getattr_opt(method)?
        {
            value = schema.call0()?;
            break;
        }
    }
    let kwargs = PyDict::new(py);
    kwargs.set_item("ensure_ascii", false)?;
    kwargs.set_item("allow_nan", false)?;
    py.import("json")?.getattr("dumps")?.call((value,), Some(&kwargs))?.extract()
}

/// Sets options of schemas by name.
///
/// # Errors
/// `TypeError` for an unknown name or a value of another type, `ValueError` for a value that makes no sense.
pub fn schema_options(defaults: SchemaOptions, kwargs: Option<&Bound<'_, PyDict>>) -> PyResult<SchemaOptions> {
    let mut options = defaults;
    let Some(kwargs) = kwargs else { return Ok(options) };
    let mut white_space_set = None;
    for (name, value) in kwargs {
        let name: String = name.extract()?;
        let mut set_white_space = |white_space| match white_space_set.replace(name.clone()) {
            None => {
                options.white_space = white_space;
                Ok(())
            }
            Some(before) => Err(PyTypeError::new_err(format!("`{before}` and `{name}` both say what white space is"))),
        };
        match &*name {
            _ if value.is_none() => {}
            "white_space_max" => match value.extract()? {
                0 => set_white_space(WhiteSpace::Compact)?,
                run_max => set_white_space(WhiteSpace::Flexible { run_max })?,
            },
            "indent" => set_white_space(WhiteSpace::Indent { spaces: value.extract()? })?,
            "separators" => {
                let (item, key): (String, String) = value.extract()?;
                set_white_space(WhiteSpace::Separators { item: item.into(), key: key.into() })?;
            }
            "additional_items" => options.has_additional_items = value.extract()?,
            "additional_properties" => options.has_additional_properties = value.extract()?,
            "any_order" => options.has_any_order = value.extract()?,
            "formats" => options.has_formats = value.extract()?,
            "integer_fractions" => options.has_integer_fractions = value.extract()?,
            "lenient" => options.is_lenient = value.extract()?,
            "any_spelling" => {
                options.spelling = if value.extract()? { Spelling::Any } else { Spelling::Shortest };
            }
            "draft" => options.read.draft = draft(&value.extract::<String>()?)?,
            "nullable" => options.read.has_nullable = value.extract()?,
            "foreign_keywords" => options.read.has_foreign_keywords = value.extract()?,
            "base_uri" => options.read.base_uri = value.extract()?,
            "pointer" => options.read.pointer = value.extract()?,
            "text_until" => options.root = RootForm::Text { until: value.extract::<String>()?.into() },
            "documents" => options.resolver = documents(&value)?,
            _ => return Err(PyTypeError::new_err(format!("there is no option `{name}`"))),
        }
    }
    Ok(options)
}

fn draft(name: &str) -> PyResult<Draft> {
    Ok(match name {
        "4" => Draft::Draft4,
        "6" => Draft::Draft6,
        "7" => Draft::Draft7,
        "2019-09" => Draft::Draft2019,
        "2020-12" => Draft::Draft2020,
        _ => return Err(PyValueError::new_err(format!("there is no draft {name:?}: 4, 6, 7, 2019-09 or 2020-12"))),
    })
}

/// Returns a resolver of the documents of a mapping from URIs to schemas.
fn documents(mapping: &Bound<'_, PyAny>) -> PyResult<Arc<dyn maskwright::json_schema::Resolve + Send + Sync>> {
    let mut texts: HashMap<String, Arc<str>> = HashMap::new();
    let Ok(mapping) = mapping.cast::<PyMapping>() else {
        let given = mapping.get_type().name()?;
        return Err(PyTypeError::new_err(format!("`documents` is a mapping from URIs to schemas, not {given}")));
    };
    for item in mapping.items()? {
        let (uri, schema): (String, Bound<'_, PyAny>) = item.extract()?;
        texts.insert(uri, json_text(&schema)?.into());
    }
    Ok(Arc::new(move |uri: &str| texts.get(uri).map(|text| Source::Text(Arc::clone(text)))))
}

/// Returns the value of a limit.
///
/// # Errors
/// `ValueError` for a negative one, and one that the limit can't be set to.
fn limit<'py, T: for<'a> FromPyObject<'a, 'py>>(name: &str, value: &Bound<'py, PyAny>) -> PyResult<T> {
    value.extract::<T>().map_err(|error| {
        let error: PyErr = error.into();
        match error.is_instance_of::<PyOverflowError>(value.py()) {
            true => PyValueError::new_err(format!("the limit `{name}` can't be {value}")),
            false => error,
        }
    })
}

/// Returns limits, with the named ones set.
///
/// # Errors
/// `TypeError` for an unknown name.
pub fn limits(named: &Bound<'_, PyMapping>) -> PyResult<Limits> {
    let mut limits = Limits::default();
    for item in named.items()? {
        let (name, value): (String, Bound<'_, PyAny>) = item.extract()?;
        macro_rules! set {
            ($($field:ident),* $(,)?) => {
                match &*name {
                    $(stringify!($field) => limits.$field = limit(&name, &value)?,)*
                    _ => return Err(PyTypeError::new_err(format!("there is no limit `{name}`"))),
                }
            };
        }
        set!(
            source_bytes_max,
            pattern_bytes_max,
            nesting_max,
            n_rules_max,
            n_exprs_max,
            repeat_max,
            dfa_states_max,
            loop_states_max,
            automaton_states_max,
            automaton_moves_max,
            json_nesting_max,
            json_values_max,
            number_digits_max,
            n_schemas_max,
            schema_alternatives_max,
            schema_facts_max,
            schema_steps_max,
            object_members_max,
            unevaluated_branches_max,
            schema_variants_max,
            key_classes_max,
            unique_values_max,
            any_order_keys_max,
            n_documents_max,
            uri_bytes_max,
            step_work_max,
            matcher_bytes_max,
        );
    }
    Ok(limits)
}
