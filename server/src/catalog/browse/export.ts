import type { StoredProduct } from '../port.ts';

/** The stored upload is what an upload takes: an export can be sent back as it is. */
export function exportLine({ raw }: StoredProduct): string {
  return `${raw}\n`;
}
