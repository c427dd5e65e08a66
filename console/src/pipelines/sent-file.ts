import { t } from '../languages/text.ts';

/** What a preview takes. Source: docs/interface.md §13.5 rule 2. */
const MOST_BYTES = 8 * 1024 * 1024;
/** Their directory stands at the end: of a part of them nothing can be read. */
const WHOLE_ONLY = /\.(?:xlsx|zip)$/i;

/** A file as a preview takes it. */
export interface SentFile {
  readonly name: string;
  readonly base64: string;
  readonly isBeginning?: true;
}

/** @returns the file, of a large one its beginning @throws Error that says what to do instead */
export async function readFile(file: File): Promise<SentFile> {
  const { name } = file;
  if (file.size <= MOST_BYTES) return { name, base64: await readBase64(file) };
  if (WHOLE_ONLY.test(name))
    throw new Error(
      t('A preview takes up to 8 MiB of such a file. Save it as CSV, or make a pipeline with a part of it.'),
    );
  return { name, base64: await readBase64(file.slice(0, MOST_BYTES)), isBeginning: true };
}

function readBase64(part: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,?/, ''));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(part);
  });
}
