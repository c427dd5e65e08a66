import type { CatalogFile } from '../../../storage/storage.ts';
import type { Derivation } from '../../derivation.ts';
import { dropGarbage } from '../upkeep-store.ts';

export const collectGarbage = (
  file: CatalogFile,
  limits: Parameters<typeof dropGarbage>[0],
  derivation: Derivation,
): boolean =>
  file.repeatable(() => file.perform(dropGarbage(limits, (documents) => derivation.remove(file, documents))));
