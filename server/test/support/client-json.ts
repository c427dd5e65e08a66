/** JSON as clients write it by default. */
export const CLIENT_FORMS = {
  /** JSON.stringify: no optional characters. */
  javascript: (value: unknown) => JSON.stringify(value),
  /** json.dumps: a space after each comma and colon, ASCII only. */
  python: (value: unknown) => escapeBeyondAscii(writeSpaced(value)),
  /** json_encode: escaped slashes, ASCII only. */
  php: (value: unknown) => escapeBeyondAscii(JSON.stringify(value)).replaceAll('/', '\\/'),
} as const;

export type ClientForm = keyof typeof CLIENT_FORMS;

function writeSpaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(writeSpaced).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([name, member]) => `${JSON.stringify(name)}: ${writeSpaced(member)}`,
  );
  return `{${members.join(', ')}}`;
}

function escapeBeyondAscii(json: string): string {
  return json.replace(/[\u0080-\uffff]/g, (unit) => {
    return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
