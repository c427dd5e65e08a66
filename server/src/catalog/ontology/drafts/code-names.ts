/** Words for codes in the main languages of shops. Numbers under such a key are text. */
const CODES = 'gtin|ean|upc|isbn|issn|mpn|sku|asin|pzn|jan|oem|id|barcode|strichcode|guid|uuid';
/**
 * Words that mean a number alone, or before or after a thing: `Referencia`, `número de referencia`, `référence
 * produit`.
 */
const REFERENCE = 'reference|referencia|riferimento|referenz';
const THINGS = [
  'art|artikel|article|articulo|articolo|artigo|artykulu|sach|typ|item|product|produkt|produit|producto|prodotto|produto|produktu',
  'part|parte|czesci|reservedels|teil|ersatzteil|piece|pieza|peca|pezzo|onderdeel|model|modell|modele|modelo|modello',
  'hersteller|manufacturer|fabricant|fabricante|produttore|fabrikant|supplier|lieferanten',
  'bestell?|order|commande|serien|serie|serial|material|catalog|catalogue|catalogo|katalog|katalogowy|zolltarif|tariff',
  REFERENCE,
].join('|');
const NUMBERS = `nummer|nummern|number|numbers|numero|numeros|numer|num|nr|no|code|codes|codigo|codice|kod|ref|${REFERENCE}|key|schluessel|schlussel`;
const OF = '(?:de |do |da |di |del |della |dell |d )?';

const PATTERN = new RegExp(
  [
    `\\b(?:${CODES})s?\\d*\\b`,
    // Matches `Herstellerartikelnummer`, `Teile-Nr` and `Typ N°`, but not `Typ N`, which is a kind such as `Typ K`.
    `\\b(?:(?:${THINGS})[es]?[ ]?){1,3}(?:${NUMBERS})\\b`,
    // `Número de pieza` names one thing, whereas `número de piezas` is a count.
    `\\b(?:${NUMBERS}|n) ${OF}(?:l )?(?:${THINGS})\\b`,
    `^(?:${REFERENCE}|ref)$`,
  ].join('|'),
);

/** @returns whether an attribute with this name contains codes, such as GTIN, `Artikel-Nr.` and `numéro d'article` */
export function isCodeName(name: string): boolean {
  const words = name
    .normalize('NFD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll('ß', 'ss')
    .replaceAll(/[łŁ]/g, 'l')
    // `Part #` means a number of a part, and `# Parts` means a count.
    .replace(/#[^\p{L}\d]*$/u, ' nr')
    // `ArtikelNr` and `EANCode` are two words each; `IDs` is one.
    .replaceAll(/(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll}{2})/gu, ' ')
    .toLowerCase()
    .replaceAll(/\bn[°º.]/g, 'nr ')
    .replaceAll(/[^\p{L}\d]+/gu, ' ');
  return PATTERN.test(words.trim());
}
