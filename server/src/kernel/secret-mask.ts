export const MASK = '•••';

/**
 * Names of members, headers and parameters whose values must not be shown. `headers` is one of them, because any header
 * may carry a key.
 */
const SECRET_NAMES =
  'pass(?:word|wd|phrase)|secret|token|authorization|credential|cookie|signature|headers|(?:api|private)[-_]?key|keys?\\d*\\b|\\bpin\\b';
const SECRET_NAME = new RegExp(SECRET_NAMES, 'i');
/** Matches a name, a separator and a value, such as in forms, queries, headers and malformed JSON. */
const PAIR = new RegExp(
  `((?<![\\w-])(?:[\\w-]*(?:${SECRET_NAMES})[\\w-]*)["']?\\s*[:=]\\s*)("[^"]*"?|'[^']*'?|(?:bearer|basic)?\\s*[^\\s"',;&}\\]]+)`,
  'gi',
);
/** Matches `https://user:password@host`. */
const USER_IN_URL = /(:\/\/)[^\s/"'@]+@/g;

/** The fewest characters of an account key (docs/interface §10.2) and of the token of an address. */
const SECRET_CHARACTERS = 32;
/** A part of a generated secret, which mixes cases and digits. */
const PART_OF_SECRET = /(?=[\w-]*[a-z])(?=[\w-]*[A-Z])(?=[\w-]*\d)[\w-]{20,}/;
const LOOKS = new RegExp(`[\\w+=~-]{${SECRET_CHARACTERS},}|${PART_OF_SECRET.source}`, 'g');

/**
 * Whether a text as a whole may be a key or a token, whatever its name. A task id, which has 24 characters, does not
 * count.
 */
export const looksSecret = (text: string): boolean =>
  text.length >= SECRET_CHARACTERS || PART_OF_SECRET.test(text);

/** A run of characters of base64, which may contain slashes. */
const BASE64_RUN = /[\w+/=~-]{24,}/g;
/** The number of consecutive characters in which changes of kind are counted. */
const WINDOW = 24;
/**
 * The most changes between small letters, capitals and digits in a window of a path. Random base64 has 14 on average,
 * and a file path has at most six. The check is needed because the parts of a secret between its slashes may be too
 * short to look secret.
 */
const MOST_CHANGES_IN_PATH = 7;

/** Masks every word of a text that may be a key or a token, whatever its name. */
export const maskLooks = (text: string): string =>
  text.replace(BASE64_RUN, (run) => (run.includes('/') && isRandom(run) ? MASK : run)).replace(LOOKS, MASK);

/** Whether the characters of a run change their kind as often, in any window, as those of a base64 secret. */
function isRandom(run: string): boolean {
  const kinds = [...run].map(kindOf);
  const isChange = (index: number) => kinds[index] !== '' && (kinds[index - 1] ?? '') !== kinds[index];
  let changes = 0;
  for (let end = 1; end < kinds.length; end += 1) {
    changes += Number(isChange(end)) - Number(end >= WINDOW && isChange(end - WINDOW + 1));
    if (changes > MOST_CHANGES_IN_PATH && /[A-Z]/.test(run.slice(Math.max(0, end - WINDOW), end + 1)))
      return true;
  }
  return false;
}

function kindOf(character: string): 'capital' | 'digit' | 'letter' | '' {
  if (/[a-z]/.test(character)) return 'letter';
  if (/[A-Z]/.test(character)) return 'capital';
  return /\d/.test(character) ? 'digit' : '';
}

/** @param plainName a name that only looks secret, such as `key` of a product's attribute */
export function isSecretName(name: string, plainName?: string): boolean {
  return name !== plainName && SECRET_NAME.test(name);
}

/**
 * Masks secrets in a text that may be truncated or malformed. JSON members are masked by name with their whole value,
 * and everything else as `name: value`. Each character is read once or twice.
 */
export function maskSecrets(text: string, plainName?: string): string {
  return maskMembers(text, plainName)
    .replace(PAIR, (all, name: string, value: string) =>
      value.startsWith(`"${MASK}`) || namesPlain(name, plainName) ? all : `${name}${MASK}`,
    )
    .replace(USER_IN_URL, `$1${MASK}@`);
}

const namesPlain = (start: string, plainName: string | undefined) =>
  plainName !== undefined && new RegExp(`^${plainName}["']?\\s*[:=]\\s*$`).test(start);

/** A complete string, perhaps followed by a colon. */
const MEMBER = /"((?:[^"\\]|\\.)*)"(\s*:\s*)?/gs;

function maskMembers(text: string, plainName: string | undefined): string {
  let masked = '';
  let copiedTo = 0;
  MEMBER.lastIndex = 0;
  for (let match = MEMBER.exec(text); match !== null; match = MEMBER.exec(text)) {
    const [all, name = '', colon] = match;
    if (colon === undefined || !isSecretName(readName(name), plainName)) continue;
    const from = match.index + all.length;
    const end = findEndOfValue(text, from);
    masked += `${text.slice(copiedTo, from)}"${MASK}"`;
    copiedTo = end;
    MEMBER.lastIndex = end;
  }
  return masked + text.slice(copiedTo);
}

/** Unescapes a name, because `pass\u0077ord` also means password. */
function readName(written: string): string {
  try {
    return JSON.parse(`"${written}"`) as string;
  } catch {
    // The name has an escape that is invalid in JSON, so it is used as it is written.
    return written;
  }
}

/** Matches a string, a bracket, a comma, or any other part of a value. */
const PART = /"(?:[^"\\]|\\.)*(?:"|$)|[[{]|[\]}]|,|[^"[\]{},]+/gsy;

const DEEPER: Readonly<Record<string, number>> = { '[': 1, '{': 1, ']': -1, '}': -1 };

/** @returns where the value that begins there ends; the end of the text if the value is incomplete */
function findEndOfValue(text: string, from: number): number {
  let depth = 0;
  PART.lastIndex = from;
  for (let match = PART.exec(text); match !== null; match = PART.exec(text)) {
    depth += DEEPER[match[0]] ?? 0;
    if (depth < 0 || (depth === 0 && match[0] === ',')) return match.index;
  }
  return text.length;
}
