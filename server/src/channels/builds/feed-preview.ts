import { planFiles } from '../../formats/formats.ts';
import type { CatalogPasses } from '../../relations/relation-store/relation-store.ts';
import type { FeedPreview } from '../channel-definitions/channel-definitions.ts';
import { FeedRows, type ReadRow } from './feed-rows.ts';
import type { BuildOrder } from './feed-writing.ts';

export type PreviewOrder = Pick<BuildOrder, 'projectId' | 'definition'>;

const SHOWN_ROWS = 20;
const SHOWN_IDENTIFIERS = 10;
const TAKEN = 1_000;
const READ = 20_000;

/**
 * Returns the first products that pass the filter, in the form of the file, and the required fields that products lack.
 */
export function previewFeed(passes: CatalogPasses, order: PreviewOrder): Promise<FeedPreview> {
  return passes.pass(order.projectId, async (pass) => {
    await using rows = new FeedRows(pass, order.definition);
    return await readFirst(rows, planFiles(order.definition.format).nameOf(1));
  });
}

async function readFirst(rows: FeedRows, fileName: string): Promise<FeedPreview> {
  const { columns, mapping, writer } = rows;
  const taken: ReadRow[] = [];
  let products = 0;
  for await (const page of rows.pages(true)) {
    products += page.products;
    taken.push(...page.rows);
    if (taken.length >= TAKEN || products >= READ) break;
  }
  const first = taken.slice(0, SHOWN_ROWS);
  const lines = first.filter(({ isLeftOut }) => !isLeftOut).map(({ row }) => writer.write(row));
  const leftOut = taken.filter(({ isLeftOut }) => isLeftOut).length;
  return {
    fileName,
    columns,
    mapping,
    rows: first.map((read) => showRow(read, columns)),
    missing: listMissing(taken),
    looked: { products, taken: taken.length, leftOut },
    text: `${writer.head}${lines.join('')}${writer.tail}`,
  };
}

function showRow({ identifier, row, problems, isLeftOut, absent }: ReadRow, columns: readonly string[]) {
  const values = columns.flatMap((name, index) => {
    const fieldValues = row.values[index] ?? [];
    return fieldValues.length === 0 ? [] : [[name, fieldValues]];
  });
  const related = row.related.map(({ as, identifiers }) => ({ as, identifiers }));
  const message = `related products are not named, because they are not in the file: ${absent.slice(0, SHOWN_IDENTIFIERS).join(' ')}`;
  const notes = absent.length === 0 ? [] : [{ field: 'related', code: 'related_absent', message }];
  const shown = { identifier, values: Object.fromEntries(values), related };
  return { ...shown, problems: [...problems, ...notes], isLeftOut };
}

/** @returns the required fields that products lack, the most frequent first */
function listMissing(taken: readonly ReadRow[]): FeedPreview['missing'] {
  const missing = taken.flatMap(({ identifier, problems }) =>
    problems.filter(({ code }) => code === 'field_missing').map((problem) => ({ identifier, ...problem })),
  );
  return [...Map.groupBy(missing, ({ field }) => field)]
    .map(([field, all]) => ({
      field,
      products: all.length,
      message: all[0]?.message ?? '',
      identifiers: all.slice(0, SHOWN_IDENTIFIERS).map(({ identifier }) => identifier),
    }))
    .sort((a, b) => b.products - a.products);
}
