/** Words that name codes, in the languages that shops mostly use; numbers under such a key are text. */
const CODES = 'gtin|ean|upc|isbn|issn|mpn|sku|asin|pzn|jan|oem|id|barcode|strichcode|guid|uuid';
const THINGS = [
  'art|artikel|article|articulo|articolo|artigo|artykulu|sach|typ|item|product|produkt|produit|producto|prodotto|produto|produktu',
  'part|parte|czesci|reservedels|teile?|ersatzteil|piece|pieza|peca|pezzo|onderdeel|model|modell|modele|modelo|modello',
  'hersteller|manufacturer|fabricant|fabricante|produttore|fabrikant|supplier|lieferanten',
  'bestell?|order|commande|serien|serie|serial|material|catalog|catalogue|catalogo|katalog|katalogowy|zolltarif|tariff|reference|referencia|riferimento|referenz',
].join('|');
const NUMBERS =
  'nummer|nummern|number|numbers|numero|numeros|numer|num|nr|no|n|code|codes|codigo|codice|kod|ref|reference|referencia|riferimento|referenz|key|schluessel|schlussel';
const OF = '(?:de |do |da |di |del |della |dell |d )?';

const PATTERN = new RegExp(
  [
    `\\b(?:${CODES})s?\\d*\\b`,
    `\\b(?:(?:${THINGS})s?[ ]?){1,3}(?:${NUMBERS})\\b`,
    // Of one thing: a "número de piezas" counts.
    `\\b(?:${NUMBERS}) ${OF}(?:l )?(?:${THINGS})\\b`,
    '^(?:reference|referencia|riferimento|referenz|ref)$',
  ].join('|'),
);

/** @returns whether an attribute of this name holds codes, such as GTIN, `Artikel-Nr.` and `numéro d'article` */
export function isCodeName(name: string): boolean {
  const words = name
    .normalize('NFD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll('ß', 'ss')
    .replaceAll(/[łŁ]/g, 'l')
    .replaceAll('#', ' nr ')
    // `ArtikelNr` and `EANCode` are two words each; `IDs` is one.
    .replaceAll(/(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll}{2})/gu, ' ')
    .toLowerCase()
    .replaceAll(/[^\p{L}\d]+/gu, ' ');
  return PATTERN.test(words.trim());
}
