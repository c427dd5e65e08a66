/** Markup that is safe to send: it was written here, and what came from elsewhere in it was escaped. */
export interface Html {
  readonly markup: string;
}

export type HtmlContent = Html | string | number | undefined | false | readonly HtmlContent[];

/** Builds markup; every value that is no markup itself is escaped, undefined and false are left out. */
export function html(parts: TemplateStringsArray, ...values: readonly HtmlContent[]): Html {
  return { markup: parts.map((part, at) => part + toMarkup(values[at])).join('') };
}

/** Takes text as markup, unescaped: for constants of the source only. */
export function trustedMarkup(markup: string): Html {
  return { markup };
}

function toMarkup(value: HtmlContent): string {
  if (value === undefined || value === false) return '';
  if (typeof value === 'string' || typeof value === 'number') return escapeText(String(value));
  if ('markup' in value) return value.markup;
  return value.map(toMarkup).join('');
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? '');
}
