import { createCatalogFiles } from '../../../src/storage/sqlite/sqlite.ts';

/** A process of its own on a failing disk: its words say what becomes of writes to a catalog that opens while the disk is read-only. */
const [folder = ''] = process.argv.slice(2);
const [others, own] = [createCatalogFiles(folder), createCatalogFiles(folder)];
// Who opens a catalog after this shares its WAL, and so can open it to read alone.
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
