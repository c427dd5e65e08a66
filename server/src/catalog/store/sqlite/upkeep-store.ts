import type { CatalogFile } from '../../../storage/storage.ts';
import type { Derivation } from '../../derivation.ts';
import { dropGarbage } from '../upkeep-store.ts';

export const collectGarbage = (
  file: CatalogFile,
  { live }: { live: readonly number[] },
  derivation: Derivation,
): boolean =>
  file.repeatable(() => file.perform(dropGarbage(live, (documents) => derivation.remove(file, documents))));
