/** How the elements of a list are named: the name of an element becomes part of the column. */
export interface NamedList {
  readonly key: string;
  /** Members whose values belong to the column that is named after the element itself. */
  readonly values: readonly string[];
}

const FEATURE: NamedList = {
  key: 'EtimFeatureCode',
  values: ['EtimValueCode', 'EtimValueNumeric', 'EtimValueLogical'],
};
export const NAMED_LISTS: Readonly<Record<string, NamedList>> = {
  EtimFeatures: FEATURE,
  EtimModellingFeatures: FEATURE,
  ClassificationFeatures: { key: 'ClassificationFeatureName', values: ['ClassificationFeatureValue1'] },
  ProductRelations: { key: 'RelationType', values: [] },
};

/** Lists whose own names are not part of a column, with the member whose column has the name of the parent. */
export const SILENT_LISTS: Readonly<Record<string, string>> = {
  EtimFeatures: '',
  EtimModellingFeatures: '',
  RelatedProducts: 'RelatedManufacturerProductNumber',
};

/** @returns the name of the member that holds the unit of a measure; undefined if it has none */
export function findUnitMember(name: string): string | undefined {
  if (name === 'ClassificationFeatureValue1') return 'ClassificationFeatureUnit';
  const measure =
    /^(BaseItemNet|PackagingType|PackagingMaterial)(Length|Width|Height|Diameter|Weight|Volume)$/;
  const [, whole = '', size] = measure.exec(name) ?? [];
  if (size === undefined) return name === 'DeclaredUnitQuantity' ? 'DeclaredUnitUnit' : undefined;
  const kind = size === 'Weight' || size === 'Volume' ? size : 'Dimension';
  return `${whole === 'BaseItemNet' ? 'Net' : whole}${kind}Unit`;
}

/** Codes of UN/ECE Recommendation 20 that have a symbol. Other codes stay in a column beside their measure. */
export const UNIT_WORDS: Readonly<Record<string, string>> = {
  MMT: 'mm',
  CMT: 'cm',
  DMT: 'dm',
  MTR: 'm',
  KMT: 'km',
  INH: 'in',
  FOT: 'ft',
  YRD: 'yd',
  SMI: 'mi',
  MGM: 'mg',
  GRM: 'g',
  KGM: 'kg',
  TNE: 't',
  ONZ: 'oz',
  LBR: 'lb',
  MTK: 'm²',
  FTK: 'ft²',
  MMQ: 'mm³',
  INQ: 'in³',
  FTQ: 'ft³',
  MTQ: 'm³',
  MLT: 'ml',
  LTR: 'l',
};

/** Whether a member is an amount in the currency of the catalogue. */
export const isAmount = (name: string): boolean => /(?:Price|SurchargeAmount)$/.test(name);
