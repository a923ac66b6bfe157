//! Memory of the caller: rows of mask words and rows of logits, in buffers and in tensors.
//!
//! This is the only module with unsafe code. Python lends its memory by address, and what the borrow checker would ask for is the caller's promise, as with every extension that writes
//! into arrays: while a call runs, no other thread reads or writes the rows that it was given, and nobody frees or resizes them. What can be checked is checked: the type of the elements,
//! alignment, that rows are contiguous and don't overlap, and that they may be written.

use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;

/// What the elements of an array are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Element {
    /// 32 bits, signed or not.
    Word,
    F32,
    F16,
    Bf16,
}

impl Element {
    fn size(self) -> usize {
        match self {
            Element::Word | Element::F32 => 4,
            Element::F16 | Element::Bf16 => 2,
        }
    }

    /// Returns the element of a format of the buffer protocol, as the module `struct` has them.
    fn from_format(format: &str, item_size: usize) -> Option<Element> {
        let is_native =
            |mark| mark == '@' || mark == '=' || mark == if cfg!(target_endian = "little") { '<' } else { '>' };
        match (format.strip_prefix(is_native).unwrap_or(format), item_size) {
            ("i" | "I" | "l" | "L", 4) => Some(Element::Word),
            ("f", 4) => Some(Element::F32),
            ("e", 2) => Some(Element::F16),
            _ => None,
        }
    }

    /// Returns the element of a `torch.dtype`.
    fn from_torch(dtype: &str) -> Option<Element> {
        match dtype {
            "torch.int32" | "torch.uint32" => Some(Element::Word),
            "torch.float32" => Some(Element::F32),
            "torch.float16" => Some(Element::F16),
            "torch.bfloat16" => Some(Element::Bf16),
            _ => None,
        }
    }
}

/// Rows of one type of elements in memory of the caller, which is kept alive.
pub struct Rows {
    address: usize,
    pub element: Element,
    pub n_rows: usize,
    /// Elements of one row.
    pub n_columns: usize,
    /// How many elements further each row begins.
    pub stride: usize,
    /// What has the memory.
    owner: Owner,
}

#[expect(dead_code, reason = "the buffer is held for as long as the rows are")]
enum Owner {
    /// The object can't resize its memory while the buffer is held.
    Buffer(PyUntypedBuffer),
    /// `data_ptr` of a tensor, which can.
    Tensor(Py<PyAny>),
}

/// A place in the caller's memory: some elements one behind the other.
#[derive(Clone, Copy)]
pub struct Span<T> {
    start: *mut T,
    n: usize,
}

// SAFETY: a span is an address; who makes a slice of it answers for there being no other (see the module).
unsafe impl<T: Send> Send for Span<T> {}
// SAFETY: likewise.
unsafe impl<T: Send> Sync for Span<T> {}

impl<T> Span<T> {
    /// Returns the elements.
    ///
    /// # Safety
    /// The rows that the span is from are alive, no other slice of the same elements is, and the caller of the extension keeps the promise of the module.
    #[allow(clippy::mut_from_ref, reason = "the span doesn't own what it points to")]
    pub unsafe fn slice<'a>(self) -> &'a mut [T] {
        match self.n {
            // An array without elements may have any address.
            0 => &mut [],
            // SAFETY: `Rows` checked bounds and alignment; the rest is the caller's.
            n => unsafe { core::slice::from_raw_parts_mut(self.start, n) },
        }
    }
}

/// Returns the integers of 16 bits that a numpy array of bfloat16 consists of (the type is of `ml_dtypes`, and the buffer protocol has no format for it); `None` for other objects.
fn bits_of_bfloat16<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = object.py();
    let Some(dtype) = object.getattr_opt(intern!(py, "dtype"))? else { return Ok(None) };
    let name = dtype.getattr_opt(intern!(py, "name"))?;
    match name.map(|name| name.extract::<String>()) {
        Some(Ok(name)) if name == "bfloat16" => object.call_method1(intern!(py, "view"), ("uint16",)).map(Some),
        _ => Ok(None),
    }
}

impl Rows {
    /// Returns the rows of an object of one or two dimensions: a tensor of the CPU, or anything with the buffer protocol.
    ///
    /// # Errors
    /// `TypeError` for other objects and other elements; `ValueError` for rows that are not contiguous, overlap, are misaligned or read-only.
    pub fn of(object: &Bound<'_, PyAny>, is_written: bool) -> PyResult<Rows> {
        // SAFETY: the object is alive, and the interpreter attached.
        if unsafe { pyo3::ffi::PyObject_CheckBuffer(object.as_ptr()) } == 1 {
            return Rows::of_buffer(object, is_written);
        }
        match object.getattr_opt(intern!(object.py(), "data_ptr"))? {
            Some(data_ptr) => Rows::of_tensor(object, &data_ptr),
            None => Rows::of_buffer(object, is_written),
        }
    }

    fn of_buffer(object: &Bound<'_, PyAny>, is_written: bool) -> PyResult<Rows> {
        Rows::of_buffer_with(object, is_written, Element::from_format)
    }

    /// As [`Self::of_buffer`], where `element` tells what a format with a number of bytes stands for.
    fn of_buffer_with(
        object: &Bound<'_, PyAny>,
        is_written: bool,
        element: fn(&str, usize) -> Option<Element>,
    ) -> PyResult<Rows> {
        // A memory view has strides also where the object leaves them out, as arrays of ctypes do.
        let viewed = || PyUntypedBuffer::get(PyMemoryView::from(object)?.as_any());
        let Ok(buffer) = PyUntypedBuffer::get(object).or_else(|_| viewed()) else {
            if let Some(bits) = bits_of_bfloat16(object)? {
                let is_bits =
                    |format: &str, item_size| (item_size == 2 && format.ends_with('H')).then_some(Element::Bf16);
                return Rows::of_buffer_with(&bits, is_written, is_bits);
            }
            return Err(PyTypeError::new_err(format!(
                "expected an array with the buffer protocol or a tensor, not {}",
                object.get_type().name()?
            )));
        };
        let format = buffer.format().to_string_lossy();
        let element = element(&format, buffer.item_size()).ok_or_else(|| {
            PyTypeError::new_err(format!(
                "elements of format {format:?} with {} bytes are neither words of 32 bits nor floats",
                buffer.item_size()
            ))
        })?;
        if is_written && buffer.readonly() {
            return Err(PyValueError::new_err("the array is read-only"));
        }
        let size = element.size() as isize;
        let strides: Vec<isize> =
            buffer.strides().iter().map(|&stride| if stride % size == 0 { stride / size } else { -1 }).collect();
        let layout = Layout::new(buffer.shape(), &strides)?;
        let address = buffer.buf_ptr() as usize;
        layout.at(address, element, Owner::Buffer(buffer))
    }

    fn of_tensor(object: &Bound<'_, PyAny>, data_ptr: &Bound<'_, PyAny>) -> PyResult<Rows> {
        let py = object.py();
        let dtype = object.getattr(intern!(py, "dtype"))?.str()?.to_string();
        let element = Element::from_torch(&dtype).ok_or_else(|| {
            PyTypeError::new_err(format!("{dtype} is neither words of 32 bits nor floats of 16 or 32"))
        })?;
        if !object.getattr(intern!(py, "is_cpu"))?.extract::<bool>()? {
            let device = object.getattr(intern!(py, "device"))?.str()?;
            return Err(PyTypeError::new_err(format!("the tensor is on {device}, not on the CPU")));
        }
        let shape: Vec<usize> = object.getattr(intern!(py, "shape"))?.extract()?;
        let strides: Vec<isize> = object.call_method0(intern!(py, "stride"))?.extract()?;
        let layout = Layout::new(&shape, &strides)?;
        layout.at(data_ptr.call0()?.extract()?, element, Owner::Tensor(data_ptr.clone().unbind()))
    }

    /// Checks that the memory is where it was.
    ///
    /// # Errors
    /// `ValueError` if a tensor has other memory now.
    fn check_place(&self, py: Python<'_>) -> PyResult<()> {
        match &self.owner {
            Owner::Buffer(_) => Ok(()),
            Owner::Tensor(data_ptr) if data_ptr.bind(py).call0()?.extract::<usize>()? == self.address => Ok(()),
            Owner::Tensor(_) => Err(PyValueError::new_err("the tensor was resized: make a Bitmask of it anew")),
        }
    }

    /// Returns the rows if their elements are words.
    ///
    /// # Errors
    /// `TypeError` if they aren't.
    pub fn words(self) -> PyResult<Rows> {
        match self.element {
            Element::Word => Ok(self),
            other => Err(PyTypeError::new_err(format!("a bitmask has words of 32 bits, not {other:?}"))),
        }
    }

    /// Returns a row.
    ///
    /// # Errors
    /// `IndexError` if there is no such row.
    pub fn row<T>(&self, row: usize) -> PyResult<Span<T>> {
        debug_assert_eq!(size_of::<T>(), self.element.size());
        if row >= self.n_rows {
            return Err(PyIndexError::new_err(format!("there is no row {row}: there are {}", self.n_rows)));
        }
        let start = self.address + row * self.stride * size_of::<T>();
        Ok(Span { start: start as *mut T, n: self.n_columns })
    }

    /// Returns `n` rows one behind the other, with nothing between them.
    ///
    /// # Errors
    /// `IndexError` if there aren't as many; `ValueError` if something is between them.
    pub fn block<T>(&self, first: usize, n: usize) -> PyResult<Span<T>> {
        if first.checked_add(n).is_none_or(|end| end > self.n_rows) {
            let message = format!("there are no {n} rows from row {first} on: there are {}", self.n_rows);
            return Err(PyIndexError::new_err(message));
        }
        if n > 1 && self.stride != self.n_columns {
            return Err(PyValueError::new_err("the rows must lie one behind the other, without gaps"));
        }
        let start = self.address + first * self.stride * size_of::<T>();
        Ok(Span { start: start as *mut T, n: n * self.n_columns })
    }

    /// Returns everything from the first element to the last, gaps between rows included.
    pub fn whole<T>(&self) -> Span<T> {
        let n = self.n_rows.checked_sub(1).map_or(0, |n_before| n_before * self.stride + self.n_columns);
        Span { start: self.address as *mut T, n }
    }
}

/// Where rows are, in elements.
struct Layout {
    n_rows: usize,
    n_columns: usize,
    stride: usize,
}

impl Layout {
    fn new(shape: &[usize], strides: &[isize]) -> PyResult<Layout> {
        let (n_rows, n_columns, row_stride, column_stride) = match (shape, strides) {
            (&[n_columns], &[stride]) => (1, n_columns, n_columns as isize, stride),
            (&[n_rows, n_columns], &[row_stride, stride]) => (n_rows, n_columns, row_stride, stride),
            _ => return Err(PyValueError::new_err(format!("expected one or two dimensions, not {}", shape.len()))),
        };
        if column_stride != 1 && n_columns > 1 {
            return Err(PyValueError::new_err("the elements of a row must lie one behind the other"));
        }
        // A single row has no stride.
        let stride = if n_rows > 1 { row_stride } else { n_columns as isize };
        match usize::try_from(stride) {
            Ok(stride) if stride >= n_columns => Ok(Layout { n_rows, n_columns, stride }),
            _ => Err(PyValueError::new_err("rows overlap, or go backwards in memory")),
        }
    }

    fn at(self, address: usize, element: Element, owner: Owner) -> PyResult<Rows> {
        let Layout { n_rows, n_columns, stride } = self;
        if !address.is_multiple_of(element.size()) && n_rows * n_columns > 0 {
            return Err(PyValueError::new_err("the array is not aligned to its elements"));
        }
        Ok(Rows { address, element, n_rows, n_columns, stride, owner })
    }
}

/// An array of mask words that was looked at once, for calls that come again and again.
///
/// `Bitmask(array)` checks the type and the layout of a numpy array, a CPU tensor, an `array.array`, a `memoryview` or any other buffer of int32 or uint32, with one or two
/// dimensions, and can be passed wherever a bitmask is asked for. It keeps the array alive. Arrays can't be resized while a `Bitmask` has them; one of a tensor that was is refused.
#[pyclass(frozen, weakref, module = "maskwright")]
pub struct Bitmask {
    rows: Rows,
}

#[pymethods]
impl Bitmask {
    #[new]
    fn new(array: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Bitmask { rows: Rows::of(array, true)?.words()? })
    }

    /// The number of rows and the number of words of a row.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.rows.n_rows, self.rows.n_columns)
    }

    fn __repr__(&self) -> String {
        format!("Bitmask(shape=({}, {}))", self.rows.n_rows, self.rows.n_columns)
    }
}

/// Rows that a call was given: those of a [`Bitmask`], or looked at now.
pub enum BitmaskRows<'py> {
    Known(Bound<'py, Bitmask>),
    Fresh(Rows),
}

impl<'py> BitmaskRows<'py> {
    /// Returns the rows of an argument.
    ///
    /// # Errors
    /// As [`Rows::of`], and `ValueError` for a [`Bitmask`] of a tensor that was resized.
    pub fn of(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        match object.cast::<Bitmask>() {
            Ok(known) => {
                known.get().rows.check_place(object.py())?;
                Ok(BitmaskRows::Known(known.clone()))
            }
            Err(_) => Ok(BitmaskRows::Fresh(Rows::of(object, true)?.words()?)),
        }
    }
}

impl core::ops::Deref for BitmaskRows<'_> {
    type Target = Rows;

    fn deref(&self) -> &Rows {
        match self {
            BitmaskRows::Known(bitmask) => &bitmask.get().rows,
            BitmaskRows::Fresh(rows) => rows,
        }
    }
}
