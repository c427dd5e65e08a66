import { promisify } from 'node:util';
import { deflate, inflate } from 'node:zlib';
import { ServiceError } from '../../kernel/errors.ts';

/**
 * Answers as they are kept for a repetition. Many repeat what was sent, which may have come packed to a hundredth of its
 * size: larger ones are kept packed, so that nothing sent takes much more room than it took to send.
 */
const PLAIN_CHARACTERS = 4 * 1024;
/** As base64. Source: docs/interface.md §8. */
const LARGEST_PACKED = 256 * 1024;
/** Of what is no JSON: JSON begins with none of these letters. */
const [PACKED, NOT_KEPT] = ['packed ', 'not kept'];

export async function packAnswer(answer: object): Promise<string> {
  const text = JSON.stringify(answer);
  if (text.length <= PLAIN_CHARACTERS) return text;
  const packed = (await promisify(deflate)(text)).toString('base64');
  return packed.length <= LARGEST_PACKED ? `${PACKED}${packed}` : NOT_KEPT;
}

/** @throws answer_not_kept */
export async function unpackAnswer(kept: string): Promise<object> {
  if (kept === NOT_KEPT) throw new ServiceError('answer_not_kept');
  if (!kept.startsWith(PACKED)) return JSON.parse(kept);
  const text = await promisify(inflate)(Buffer.from(kept.slice(PACKED.length), 'base64'));
  return JSON.parse(text.toString());
}
