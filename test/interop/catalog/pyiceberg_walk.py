"""Drives a REST catalog with PyIceberg: namespace, table, appends, schema and property changes, rename, read back.

usage: pyiceberg_walk.py URL WAREHOUSE CREDENTIAL SCOPE   (prints one JSON line for the test to compare)
"""

import json
import sys

import pyarrow as pa
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import NoSuchTableError, TableAlreadyExistsError
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

url, warehouse, credential, scope = sys.argv[1:]
catalog = RestCatalog("walk", uri=url, warehouse=warehouse, credential=credential, scope=scope)
catalog.create_namespace("py")
catalog.create_namespace(("py", "inner"), {"owner": "walk"})

schema = Schema(
    NestedField(1, "id", LongType(), required=True), NestedField(2, "name", StringType(), required=False),
    identifier_field_ids=[1],
)
name = ("py", "inner", "walk")
table = catalog.create_table(name, schema)
arrow = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("name", pa.string())])
table.append(pa.table({"id": [1, 2], "name": ["a", None]}, schema=arrow))

# A handle that has not seen the next commit is refused with 409 and tries again on the new state: a catalog that let
# it through would lose row 3.
stale = catalog.load_table(name)
table.append(pa.table({"id": [3], "name": ["c"]}, schema=arrow))
stale.append(pa.table({"id": [4], "name": ["stale"]}, schema=arrow))
table = catalog.load_table(name)

with table.update_schema() as update:
    update.add_column("extra", LongType())
with table.transaction() as transaction:
    transaction.set_properties({"k": "v"})

with catalog.create_table_transaction(("py", "inner", "staged"), schema) as transaction:
    transaction.set_properties({"made": "staged"})

try:
    catalog.create_table(name, schema)
    again = "created"
except TableAlreadyExistsError:
    again = "exists"

catalog.rename_table(name, ("py", "inner", "renamed"))
try:
    catalog.load_table(name)
    old = "there"
except NoSuchTableError:
    old = "gone"

renamed = catalog.load_table(("py", "inner", "renamed"))
print(json.dumps({
    "rows": sorted(renamed.scan().to_arrow().to_pylist(), key=lambda row: row["id"]),
    "again": again,
    "old": old,
    "property": renamed.properties.get("k"),
    "columns": [field.name for field in renamed.schema().fields],
    "snapshots": len(renamed.metadata.snapshots),
    "staged": catalog.load_table(("py", "inner", "staged")).properties.get("made"),
    "tables": sorted(identifier[-1] for identifier in catalog.list_tables(("py", "inner"))),
    "namespace": catalog.load_namespace_properties(("py", "inner")).get("owner"),
}))
