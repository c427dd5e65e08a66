import { CatalogFiles } from '../../../src/storage/sqlite/sqlite.ts';

/** A process on a failing disk: prints the results of writes to a catalog that was opened while the disk was read-only. */
const [folder = ''] = process.argv.slice(2);
const [others, own] = [new CatalogFiles(folder), new CatalogFiles(folder)];
// Later openers of the catalog share this WAL, so they can open it only for reading.
others.open(1);
process.on('message', () => {
  try {
    const file = own.open(1);
    file.transaction(() => file.database.exec('update meta set value = value'));
    process.send?.('written');
  } catch (error) {
    process.send?.((error as Error).message);
  }
});
process.send?.('open');
