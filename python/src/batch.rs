//! Many matchers at once.

use crate::errors::match_error;
use crate::matcher::{Matcher, token_id, token_ids};
use crate::memory::{BitmaskRows, Span};
use maskwright::MatchError;
use maskwright::vocab::TokenId;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::prelude::*;

/// Matchers that one thread steps before it looks for more: a step takes about as long as handing out work does.
const STEPS_PER_TASK: usize = 16;

/// Returns what went wrong, by position.
fn errors_by_position<'py>(py: Python<'py>, results: &[Result<(), MatchError>]) -> PyResult<Bound<'py, PyDict>> {
    let errors = PyDict::new(py);
    for (position, result) in results.iter().enumerate() {
        if let Err(error) = result {
            errors.set_item(position, match_error(error).into_value(py))?;
        }
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

/// Does something for each matcher on the threads of the pool.
fn for_each<'a, I: Sync>(
    py: Python<'_>,
    items: &'a [I],
    step: impl Fn(&'a I) -> Result<(), MatchError> + Sync,
) -> Vec<Result<(), MatchError>> {
    py.detach(|| match items.len() <= STEPS_PER_TASK {
        true => items.iter().map(&step).collect(),
        false => items.par_iter().with_min_len(STEPS_PER_TASK).map(&step).collect(),
    })
}

fn fill(matcher: &mut maskwright::Matcher, row: Span<u32>) -> Result<(), MatchError> {
    // SAFETY: no other matcher of the batch has the row, and the caller of the batch has the memory.
    matcher.fill_mask(unsafe { row.slice() }).map(drop)
}

/// Fills a row for each matcher, on all cores: row `rows[i]` for matcher `i`, or row `i` without `rows`. Returns the `MatchError` of each matcher that failed by its position: an empty dict if all went
/// well. Rows of those that failed are zeros.
#[pyfunction]
#[pyo3(signature = (matchers, bitmask, rows=None))]
pub fn fill_masks<'py>(
    py: Python<'py>,
    matchers: Vec<Bound<'py, Matcher>>,
    bitmask: &Bound<'py, PyAny>,
    rows: Option<Vec<usize>>,
) -> PyResult<Bound<'py, PyDict>> {
    let bitmask = BitmaskRows::of(bitmask)?;
    let spans = spans(&bitmask, rows, matchers.len())?;
    let items: Vec<(&Matcher, Span<u32>)> = matchers.iter().map(Bound::get).zip(spans).collect();
    let results = for_each(py, &items, |&(matcher, row)| fill(&mut matcher.lock(), row));
    errors_by_position(py, &results)
}

/// Accepts one token for each matcher, on all cores. Returns the `MatchError` of each matcher that failed by its position; those are as they were.
#[pyfunction]
pub fn accept_tokens<'py>(
    py: Python<'py>,
    matchers: Vec<Bound<'py, Matcher>>,
    tokens: Vec<i64>,
) -> PyResult<Bound<'py, PyDict>> {
    check_lengths(matchers.len(), tokens.len())?;
    let tokens: Vec<TokenId> = tokens.into_iter().map(|id| token_id(id, 0).unwrap_or(TokenId::MAX)).collect();
    let items: Vec<(&Matcher, TokenId)> = matchers.iter().map(Bound::get).zip(tokens).collect();
    let results = for_each(py, &items, |&(matcher, token)| matcher.lock().accept_token(token));
    errors_by_position(py, &results)
}

/// Accepts the tokens of each matcher and fills its row, on all cores: one step of a batch in one call. `tokens[i]` is a token or a list of tokens, of which all are accepted or none. Rows and errors are as
/// in `fill_masks`; a row whose matcher refused its tokens is zeros.
#[pyfunction]
#[pyo3(signature = (matchers, tokens, bitmask, rows=None))]
pub fn accept_and_fill<'py>(
    py: Python<'py>,
    matchers: Vec<Bound<'py, Matcher>>,
    tokens: &Bound<'py, PyAny>,
    bitmask: &Bound<'py, PyAny>,
    rows: Option<Vec<usize>>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut lists: Vec<Vec<TokenId>> = Vec::with_capacity(matchers.len());
    for tokens in tokens.try_iter()? {
        let tokens = tokens?;
        lists.push(match tokens.extract::<i64>() {
            Ok(token) => vec![TokenId::try_from(token).unwrap_or(TokenId::MAX)],
            Err(_) => token_ids(&tokens, 0)?,
        });
    }
    check_lengths(matchers.len(), lists.len())?;
    let bitmask = BitmaskRows::of(bitmask)?;
    let spans = spans(&bitmask, rows, matchers.len())?;
    let items: Vec<_> = matchers.iter().map(Bound::get).zip(&lists).zip(spans).collect();
    let results = for_each(py, &items, |&((matcher, tokens), row)| {
        let mut matcher = matcher.lock();
        let accepted = match **tokens {
            [token] => matcher.accept_token(token),
            ref tokens => matcher.accept_tokens(tokens),
        };
        accepted.and_then(|()| fill(&mut matcher, row)).inspect_err(|_| {
            // SAFETY: as in `fill`.
            unsafe { row.slice() }.fill(0);
        })
    });
    errors_by_position(py, &results)
}

fn check_lengths(n_matchers: usize, n_tokens: usize) -> PyResult<()> {
    match n_matchers == n_tokens {
        true => Ok(()),
        false => Err(PyValueError::new_err(format!("there are tokens for {n_tokens} matchers, not {n_matchers}"))),
    }
}
