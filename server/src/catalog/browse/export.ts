import type { ListedRow } from './product-list.ts';

/** The stored upload is what an upload takes: an export can be sent back as it is. */
export function exportLine({ text }: ListedRow): string {
  return `${text}\n`;
}
