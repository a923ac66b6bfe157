//! Many matchers at once.

use crate::errors::{match_error, no_token};
use crate::matcher::Matcher;
use crate::memory::{BitmaskRows, Span};
use crate::numbers::{GivenId, given_ids, row_indices};
use maskwright::MatchError;
use maskwright::matcher::step_each;
use maskwright::vocab::TokenId;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Returns what went wrong, by position. `tokens(position, index)` is the integer that was given in place of a token id there.
fn errors_by_position<'a, 'py>(
    py: Python<'py>,
    results: &[Result<(), MatchError>],
    tokens: impl Fn(usize, usize) -> Option<&'a GivenId>,
) -> PyResult<Bound<'py, PyDict>> {
    let errors = PyDict::new(py);
    for (position, result) in results.iter().enumerate() {
        let Err(error) = result else { continue };
        let given = tokens(position, error.token_index().unwrap_or(0)).filter(|_| error.token() == Some(TokenId::MAX));
        let error = match given {
            Some(GivenId::Other(given)) => {
                no_token(given, error.bound().map_or(0, |bound| bound.1), error.token_index())
            }
            _ => match_error(error),
        };
        errors.set_item(position, error.into_value(py))?;
    }
    Ok(errors)
}

/// Returns the row of each matcher: those of the list, or the first ones.
fn spans(rows: &BitmaskRows<'_>, list: Option<Vec<usize>>, n: usize) -> PyResult<Vec<Span<u32>>> {
    let list = match list {
        None => (0..n).collect(),
        Some(list) if list.len() == n => {
            let mut sorted = list.clone();
            sorted.sort_unstable();
            if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
                return Err(PyValueError::new_err("two matchers have the same row"));
            }
            list
        }
        Some(list) => {
            return Err(PyValueError::new_err(format!("there are {} rows for {n} matchers", list.len())));
        }
    };
    list.into_iter().map(|row| rows.row(row)).collect()
}

/// Fills a row after `accept`; a row whose mask can't be found becomes zeros.
fn fill(
    matcher: &mut maskwright::Matcher,
    row: Span<u32>,
    accept: impl FnOnce(&mut maskwright::Matcher) -> Result<(), MatchError>,
) -> Result<(), MatchError> {
    // SAFETY: no other matcher of the batch has the row, and the caller of the batch has the memory.
    let row = unsafe { row.slice() };
    let filled = accept(matcher).and_then(|()| matcher.fill_mask(row).map(drop));
    filled.inspect_err(|_| row.fill(0))
}

/// Fills a row for each matcher, on several threads where that is faster: row `rows[i]` for matcher `i`, or row `i` without `rows`. Returns the `MatchError` of each matcher that failed by its position: an empty dict if all went
/// well. Rows of those that failed are zeros.
#[pyfunction]
#[pyo3(signature = (matchers, bitmask, rows=None))]
pub fn fill_masks<'py>(
    py: Python<'py>,
    matchers: Vec<Bound<'py, Matcher>>,
    bitmask: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = row_indices)] rows: Option<Vec<usize>>,
) -> PyResult<Bound<'py, PyDict>> {
    let bitmask = BitmaskRows::of(bitmask)?;
    let spans = spans(&bitmask, rows, matchers.len())?;
    let items: Vec<(&Matcher, Span<u32>)> = matchers.iter().map(Bound::get).zip(spans).collect();
    let results = py.detach(|| step_each(items, None, |(matcher, row)| fill(&mut matcher.lock(), row, |_| Ok(()))));
    errors_by_position(py, &results, |_, _| None)
}

/// Accepts one token for each matcher, on several threads where that is faster. Returns the `MatchError` of each matcher that failed by its position; those are as they were.
#[pyfunction]
pub fn accept_tokens<'py>(
    py: Python<'py>,
    matchers: Vec<Bound<'py, Matcher>>,
    tokens: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let tokens = given_ids(tokens)?;
    check_batch(&matchers, tokens.len())?;
    let ids = tokens.iter().map(GivenId::or_unknown);
    let items: Vec<(&Matcher, TokenId)> = matchers.iter().map(Bound::get).zip(ids).collect();
    let results = py.detach(|| step_each(items, None, |(matcher, token)| matcher.lock().accept_token(token)));
    errors_by_position(py, &results, |position, _| tokens.get(position))
}

/// Accepts the tokens of each matcher and fills its row, on several threads where that is faster: one step of a batch in one call. `tokens[i]` is a token or a list of tokens, of which all are accepted or none. Rows and errors are as
/// in `fill_masks`; a row whose matcher refused its tokens is zeros.
#[pyfunction]
#[pyo3(signature = (matchers, tokens, bitmask, rows=None))]
pub fn accept_and_fill<'py>(
    py: Python<'py>,
    matchers: Vec<Bound<'py, Matcher>>,
    tokens: &Bound<'py, PyAny>,
    bitmask: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = row_indices)] rows: Option<Vec<usize>>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut given: Vec<Vec<GivenId>> = Vec::with_capacity(matchers.len());
    for tokens in tokens.try_iter()? {
        let tokens = tokens?;
        given.push(match tokens.extract::<GivenId>() {
            Ok(token) => vec![token],
            Err(_) => given_ids(&tokens)?,
        });
    }
    check_batch(&matchers, given.len())?;
    let bitmask = BitmaskRows::of(bitmask)?;
    let spans = spans(&bitmask, rows, matchers.len())?;
    let items: Vec<_> = matchers.iter().map(Bound::get).zip(&given).zip(spans).collect();
    let step = |((matcher, tokens), row): ((&Matcher, &Vec<GivenId>), Span<u32>)| {
        fill(&mut matcher.lock(), row, |matcher| match &**tokens {
            [token] => matcher.accept_token(token.or_unknown()),
            tokens => matcher.accept_tokens(&tokens.iter().map(GivenId::or_unknown).collect::<Vec<TokenId>>()),
        })
    };
    let results = py.detach(|| step_each(items, None, step));
    errors_by_position(py, &results, |position, index| given.get(position)?.get(index))
}

/// Checks that there are tokens for each matcher, and that no matcher is there twice: the order of its steps would be that of the threads.
fn check_batch(matchers: &[Bound<'_, Matcher>], n_tokens: usize) -> PyResult<()> {
    let n_matchers = matchers.len();
    if n_matchers != n_tokens {
        return Err(PyValueError::new_err(format!("there are tokens for {n_tokens} matchers, not {n_matchers}")));
    }
    let mut addresses: Vec<_> = matchers.iter().map(Bound::as_ptr).collect();
    addresses.sort_unstable();
    match addresses.windows(2).any(|pair| pair[0] == pair[1]) {
        true => Err(PyValueError::new_err("a matcher is in the batch twice")),
        false => Ok(()),
    }
}
