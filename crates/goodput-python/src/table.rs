//! Rows of a report as Arrow, handed over without a copy through the Arrow PyCapsule interface.

use std::sync::Arc;

use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Decimal128Array, Float64Array, Int64Array, RecordBatch,
    RecordBatchIterator, StringArray,
};
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use serde_json::Value;

use crate::errors::argument;

/// A column: its name, where in a row's JSON it stands, and what it holds.
pub struct Column {
    pub name: &'static str,
    /// JSON pointer.
    pub at: &'static str,
    pub kind: Kind,
}

/// What a column holds. Every column may hold null.
#[derive(Clone, Copy)]
pub enum Kind {
    Text,
    Integer,
    Float,
    Flag,
    /// An integer of up to 38 digits: nanoseconds times devices, FLOPs.
    Exact,
    /// Several words, joined with commas.
    Words,
}

/// Digits of decimal128.
const DIGITS: u8 = 38;

/// A table that pyarrow, polars and pandas take without a copy.
#[pyclass(module = "fleet_goodput._native", frozen)]
pub struct ArrowTable {
    batch: RecordBatch,
}

impl ArrowTable {
    /// The table of `rows`, each a JSON object.
    pub fn new(columns: &[Column], rows: &[Value]) -> PyResult<Self> {
        let arrays: Vec<ArrayRef> =
            columns.iter().map(|column| column.array(rows)).collect::<Result<_, _>>().map_err(argument)?;
        let fields: Vec<Field> = columns
            .iter()
            .zip(&arrays)
            .map(|(c, a)| Field::new(c.name, a.data_type().clone(), true))
            .collect();
        let batch = RecordBatch::try_new(SchemaRef::new(Schema::new(fields)), arrays).map_err(argument)?;
        Ok(Self { batch })
    }
}

impl Column {
    fn array(&self, rows: &[Value]) -> Result<ArrayRef, ArrowError> {
        let cells = rows.iter().map(|row| row.pointer(self.at));
        Ok(match self.kind {
            Kind::Text => Arc::new(cells.map(|cell| cell?.as_str()).collect::<StringArray>()),
            Kind::Integer => Arc::new(cells.map(|cell| cell?.as_i64()).collect::<Int64Array>()),
            Kind::Float => Arc::new(cells.map(|cell| cell?.as_f64()).collect::<Float64Array>()),
            Kind::Flag => Arc::new(cells.map(|cell| cell?.as_bool()).collect::<BooleanArray>()),
            Kind::Exact => {
                let exact = cells.map(|cell| cell?.as_str()?.parse::<i128>().ok());
                Arc::new(exact.collect::<Decimal128Array>().with_precision_and_scale(DIGITS, 0)?)
            }
            Kind::Words => {
                let joined = |cell: &Value| {
                    Some(cell.as_array()?.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "))
                };
                Arc::new(cells.map(|cell| joined(cell?)).collect::<StringArray>())
            }
        })
    }
}

#[pymethods]
impl ArrowTable {
    /// Arrow PyCapsule interface. A requested schema is the consumer's wish; this table has one schema only.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.batch.schema().as_ref()).map_err(argument)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    #[getter]
    fn num_rows(&self) -> usize {
        self.batch.num_rows()
    }

    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    fn __repr__(&self) -> String {
        let schema = self.batch.schema();
        let column = |field: &Arc<Field>| format!("{}: {}", field.name(), field.data_type());
        let columns: Vec<_> = schema.fields().iter().map(column).collect();
        format!("ArrowTable({} rows; {})", self.batch.num_rows(), columns.join(", "))
    }
}
