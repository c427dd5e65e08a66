/**
 * <relata-related> and <relata-fit>: the related products of a product and whether it fits, on any page. See README.md.
 */

const TEXTS = {
  en: {
    ...{ why: 'Why?', loading: 'Loading', failed: 'This could not be loaded.', none: 'There is nothing to show.' },
    ...{ fits: 'Fits', does_not_fit: 'Does not fit', unknown: 'Not known', no_rule: 'Nothing is known about these products' },
    missing: (attribute, identifier) => `${attribute} of ${identifier} is not known`,
  },
  de: {
    ...{ why: 'Warum?', loading: 'Lädt', failed: 'Das konnte nicht geladen werden.', none: 'Es gibt nichts zu zeigen.' },
    ...{ fits: 'Passt', does_not_fit: 'Passt nicht', unknown: 'Nicht bekannt', no_rule: 'Über diese Produkte ist nichts bekannt' },
    missing: (attribute, identifier) => `${attribute} von ${identifier} ist nicht bekannt`,
  },
};

const STYLE = `
:host { display: block; font: inherit; color: var(--relata-text, inherit); }
[hidden] { display: none; }
h3 { font-size: 1em; margin: 0 0 .5em; }
ul { list-style: none; margin: 0 0 1em; padding: 0; display: grid; gap: var(--relata-gap, 1rem);
  grid-template-columns: repeat(auto-fill, minmax(var(--relata-card-width, 11rem), 1fr)); }
li { border: 1px solid var(--relata-border, #767676); border-radius: var(--relata-radius, .5rem); padding: .75rem;
  background: var(--relata-background, #fff); color: var(--relata-card-text, #1b1b1b); }
img { width: 100%; aspect-ratio: 1; object-fit: contain; }
a { color: var(--relata-link, #0b57d0); }
dl { margin: .5em 0 0; }
dd { margin: 0 0 .25em 1em; }
.fits { color: var(--relata-fits, #0a6b2d); } .does_not_fit { color: var(--relata-does-not-fit, #b3261e); }
summary { cursor: pointer; }
`;

const SIGNS = { equals: '=', notEquals: '≠', less: '<', lessOrEqual: '≤', greater: '>', greaterOrEqual: '≥' };

/** @returns an element. Texts are never read as HTML. */
function make(name, props = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(props)) if (value) element.setAttribute(key, value);
  element.append(...children.filter((one) => one !== undefined));
  return element;
}

/** The statement of the service if a value is computed or a table is used, otherwise the values with their names. */
function describeMatch({ target, operator, source, targetValues, sourceValues, targetTerm, sourceTerm, table, say }) {
  if (targetTerm || sourceTerm || table || targetValues.length === 0 || sourceValues.length === 0)
    return `${target}, ${source}: ${say}`;
  return `${target} ${targetValues.join(', ')} ${SIGNS[operator] ?? operator} ${source} ${sourceValues.join(', ')}`;
}

/** Only addresses that a browser opens as a page or an image, so no `javascript:` from a feed. */
const safe = (url) => (/^https?:\/\//i.test(url ?? '') ? url : undefined);

class RelataElement extends HTMLElement {
  #asked = 0;

  constructor() {
    super();
    this.attachShadow({ mode: 'open' });
  }

  connectedCallback() {
    this.refresh();
  }

  attributeChangedCallback() {
    if (this.isConnected) this.refresh();
  }

  get language() {
    const language = this.getAttribute('lang') || this.closest('[lang]')?.lang || navigator.language;
    return language.slice(0, 2);
  }

  get texts() {
    return TEXTS[this.language] ?? TEXTS.en;
  }

  /** Sends the request again. Of several requests only the last one counts. */
  async refresh() {
    const asked = ++this.#asked;
    this.show(make('p', { role: 'status' }, this.texts.loading));
    let shown;
    try {
      shown = await this.load();
    } catch {
      shown = [make('p', { role: 'status', part: 'message' }, this.texts.failed)];
    }
    if (asked === this.#asked) this.show(...shown);
  }

  show(...content) {
    this.shadowRoot.replaceChildren(make('style', {}, STYLE), ...content);
  }

  async ask(path, body) {
    const response = await fetch(`${this.getAttribute('url').replace(/\/$/, '')}/search/relations/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.getAttribute('key')}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, projectId: Number(this.getAttribute('project')) || undefined }),
    });
    if (!response.ok) throw new Error(String(response.status));
    return response.json();
  }

  list(name) {
    return (this.getAttribute(name) ?? '').split(',').map((one) => one.trim()).filter(Boolean);
  }
}

/** Cards of related products by relation, with the deciding values on demand. */
class RelataRelated extends RelataElement {
  static observedAttributes = ['url', 'key', 'project', 'product', 'tags', 'limit', 'lang'];

  async load() {
    const limitPerRelation = Number(this.getAttribute('limit')) || 6;
    const { tags } = await this.ask('result', {
      identifier: this.getAttribute('product'),
      includeTags: this.list('tags').map((tag) => ({ tag, limitPerRelation })),
      explain: true,
      locale: this.language === 'de' ? 'de-DE' : 'en-GB',
    });
    const relations = tags.flatMap((one) => one.relations).filter((one) => one.searchResult.length > 0);
    if (relations.length === 0) return [make('p', { part: 'message' }, this.texts.none)];
    return relations.flatMap(({ name, searchResult }) => [
      make('h3', { part: 'heading' }, name),
      make('ul', { part: 'list' }, ...searchResult.map((item) => this.card(item))),
    ]);
  }

  card({ name, brand, link, image, explain }) {
    const picture = safe(image) && make('img', { src: image, loading: 'lazy', part: 'image' });
    if (picture) picture.alt = '';
    const title = safe(link) ? make('a', { href: link, part: 'link' }, name) : make('span', {}, name);
    return make('li', { part: 'card' }, picture, make('div', {}, title), make('div', { part: 'brand' }, brand), this.why(explain));
  }

  why(explain) {
    const reasons = (explain?.match ?? [])
      .flatMap((one) => (one.any ?? one.together ?? [one]).filter(({ holds }) => holds))
      .map(describeMatch);
    if (reasons.length === 0) return undefined;
    return make('details', { part: 'why' }, make('summary', {}, this.texts.why), ...reasons.map((one) => make('div', {}, one)));
  }
}

/** A verdict on several products, pair by pair. */
class RelataFit extends RelataElement {
  static observedAttributes = ['url', 'key', 'project', 'products', 'lang'];

  async load() {
    const items = this.list('products').map((identifier) => ({ identifier }));
    const { verdict, pairs } = await this.ask('fit', { items });
    const { texts } = this;
    const lines = pairs.flatMap(({ source, target, relation, verdict: ofPair, missing }) => [
      make('dt', {}, `${source} + ${target}: ${relation.name}`),
      make('dd', { class: ofPair }, texts[ofPair]),
      ...missing.map(({ identifier, attribute }) => make('dd', {}, texts.missing(attribute, identifier))),
    ]);
    return [
      make('p', { part: `verdict ${verdict}`, role: 'status' }, make('strong', { class: verdict }, texts[verdict])),
      ...(lines.length > 0 ? [make('dl', { part: 'pairs' }, ...lines)] : []),
    ];
  }
}

customElements.define('relata-related', RelataRelated);
customElements.define('relata-fit', RelataFit);
