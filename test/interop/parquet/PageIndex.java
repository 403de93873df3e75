import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.filter2.compat.FilterCompat;
import org.apache.parquet.filter2.predicate.FilterApi;
import org.apache.parquet.filter2.predicate.FilterPredicate;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.ParquetReader;
import org.apache.parquet.hadoop.example.GroupReadSupport;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.hadoop.util.HadoopInputFile;
import org.apache.parquet.internal.column.columnindex.ColumnIndex;
import org.apache.parquet.internal.column.columnindex.OffsetIndex;
import org.apache.parquet.io.api.Binary;

/** What parquet-mr makes of a file's page index: each column's, and how many rows filters find with it and without. */
public class PageIndex {
  public static void main(String[] args) throws Exception {
    Path path = new Path(args[0]);
    Configuration conf = new Configuration();
    try (ParquetFileReader reader = ParquetFileReader.open(HadoopInputFile.fromPath(path, conf))) {
      for (ColumnChunkMetaData chunk : reader.getFooter().getBlocks().get(0).getColumns()) {
        ColumnIndex index = reader.readColumnIndex(chunk);
        OffsetIndex offsets = reader.readOffsetIndex(chunk);
        System.out.println("column " + chunk.getPath().toDotString() + " " + (index == null ? "none" : index.getBoundaryOrder()) + " " + offsets.getPageCount());
      }
    }
    FilterPredicate[] filters = {
      FilterApi.eq(FilterApi.longColumn("id"), 77_777L),
      FilterApi.and(FilterApi.gt(FilterApi.longColumn("id"), 60_000L), FilterApi.ltEq(FilterApi.longColumn("id"), 70_000L)),
      FilterApi.lt(FilterApi.longColumn("down"), -99_990L),
      FilterApi.eq(FilterApi.binaryColumn("s"), Binary.fromString("s 420")),
      FilterApi.eq(FilterApi.binaryColumn("s"), (Binary) null),
      FilterApi.gt(FilterApi.doubleColumn("d"), 99_000.0),
    };
    for (FilterPredicate filter : filters) System.out.println("filter " + count(path, conf, filter, true) + " " + count(path, conf, filter, false));
  }

  private static long count(Path path, Configuration conf, FilterPredicate filter, boolean byIndex) throws Exception {
    long rows = 0;
    try (ParquetReader<?> reader = ParquetReader.builder(new GroupReadSupport(), path).withConf(conf).withFilter(FilterCompat.get(filter))
        .useColumnIndexFilter(byIndex).useStatsFilter(byIndex).useDictionaryFilter(byIndex).build()) {
      while (reader.read() != null) rows++;
    }
    return rows;
  }
}
