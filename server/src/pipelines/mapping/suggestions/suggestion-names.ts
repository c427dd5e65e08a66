export type SuggestedField =
  | 'identifier'
  | 'groupIdentifier'
  | 'name'
  | 'productUrl'
  | 'images'
  | 'categories'
  | 'brand';

/**
 * Names that columns have in exports, the surest first; letters and digits only, in lower case. Taken from common feeds and
 * from what German and English shop and ERP systems write. What formats map by themselves is known without standing here.
 */
export const COLUMN_NAMES: Readonly<Record<SuggestedField, readonly string[]>> = {
  identifier: [
    ...['identifier', 'sku', 'productsku', 'variantsku', 'artikelnummer', 'artikelnr', 'artnr', 'artno'],
    ...[
      'articlenumber',
      'articleno',
      'articleid',
      'itemnumber',
      'itemno',
      'itemid',
      'itemcode',
      'supplierpid',
    ],
    ...[
      'supplieraid',
      'bestellnummer',
      'bestellnr',
      'produktnummer',
      'produktnr',
      'productnumber',
      'productno',
    ],
    ...[
      'productcode',
      'productid',
      'produktid',
      'artikelid',
      'materialnummer',
      'materialnumber',
      'partnumber',
    ],
    ...[
      'partno',
      'teilenummer',
      'mpn',
      'id',
      'gid',
      'ean',
      'gtin',
      'barcode',
      'code',
      'nummer',
      'number',
      'key',
    ],
  ],
  groupIdentifier: [
    ...[
      'groupidentifier',
      'itemgroupid',
      'groupid',
      'gruppenid',
      'gruppennummer',
      'variantgroup',
      'variantengruppe',
    ],
    ...[
      'parentsku',
      'parentidentifier',
      'parentid',
      'parent',
      'parentproduct',
      'mastersku',
      'masterid',
      'master',
    ],
    ...[
      'vaterartikel',
      'vaterartikelnummer',
      'elternartikel',
      'hauptartikel',
      'hauptartikelnummer',
      'stammartikel',
    ],
    ...[
      'stammartikelnummer',
      'handle',
      'stylecode',
      'styleid',
      'modelnumber',
      'modellnummer',
      'group',
      'gruppe',
    ],
  ],
  name: [
    ...[
      'name',
      'title',
      'productname',
      'producttitle',
      'articlename',
      'itemname',
      'produktname',
      'produkttitel',
    ],
    ...[
      'artikelname',
      'artikelbezeichnung',
      'produktbezeichnung',
      'bezeichnung',
      'titel',
      'descriptionshort',
    ],
    ...[
      'shortdescription',
      'kurzbezeichnung',
      'kurzbeschreibung',
      'kurztext',
      'benennung',
      'label',
      'displayname',
    ],
  ],
  productUrl: [
    ...[
      'producturl',
      'productlink',
      'deeplink',
      'link',
      'url',
      'produkturl',
      'produktlink',
      'artikelurl',
      'artikellink',
    ],
    ...['shopurl', 'detailurl', 'canonicalurl', 'permalink', 'href', 'webseite'],
  ],
  images: [
    ...[
      'image',
      'images',
      'imageurl',
      'imageurls',
      'imagelink',
      'imagelinks',
      'imagesrc',
      'img',
      'imgurl',
      'mainimage',
    ],
    ...[
      'baseimage',
      'additionalimage',
      'additionalimages',
      'additionalimagelink',
      'additionalimagelinks',
      'picture',
    ],
    ...[
      'pictures',
      'pictureurl',
      'photo',
      'photos',
      'photourl',
      'thumbnail',
      'thumbnailurl',
      'thumb',
      'smallimage',
    ],
    ...[
      'bild',
      'bilder',
      'bildurl',
      'bildurls',
      'bildlink',
      'hauptbild',
      'produktbild',
      'produktbilder',
      'artikelbild',
    ],
    ...[
      'artikelbilder',
      'weiterebilder',
      'zusatzbild',
      'zusatzbilder',
      'vorschaubild',
      'foto',
      'fotos',
      'fotourl',
    ],
  ],
  categories: [
    ...['categorypath', 'categories', 'category', 'kategoriepfad', 'kategorien', 'kategorie', 'producttype'],
    ...[
      'producttypes',
      'productcategory',
      'productcategories',
      'produktkategorie',
      'warengruppe',
      'warengruppen',
    ],
    ...['breadcrumb', 'breadcrumbs', 'rubrik', 'sortiment', 'produktgruppe', 'productgroup', 'taxonomy'],
    ...['googleproductcategory', 'department', 'abteilung', 'type', 'typ'],
  ],
  brand: [
    ...['brand', 'marke', 'brandname', 'markenname', 'manufacturername', 'manufacturer', 'hersteller'],
    ...['herstellername', 'vendor', 'fabrikat'],
  ],
};

/** Columns that hold amounts of money. */
export const PRICE_NAME = /price|preis|prix|precio|prezzo|cost\b|\bcost|uvp|msrp|rrp/i;
/** Columns that hold a list of words in one cell, in letters and digits. */
export const LIST_NAMES = new Set([
  ...['tags', 'tag', 'producttags', 'keywords', 'metakeywords', 'searchkeywords', 'labels', 'schlagworte'],
  ...['schlagwoerter', 'stichworte', 'stichwoerter', 'suchbegriffe'],
]);
