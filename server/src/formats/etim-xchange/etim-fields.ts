/**
 * The members of a product of ETIM xChange 2.0. Each line describes an object: its path, then its members, each with
 * its form. `[]` marks a list, `+` a list that must not be empty, `!` a required member. A number is the maximum length
 * of a text. `_` in a list of words stands for a space. Source: ETIM International, ETIM xChange guideline 2.0 of
 * 2025-11-27.
 */
export const ETIM_FIELDS = String.raw`
ProductIdentification! ManufacturerIdGln:gln ManufacturerIdDuns:duns ManufacturerName!:80 ManufacturerShortname:15 ManufacturerProductNumber!:35 ProductGtin[]:gtin UnbrandedProduct:boolean BrandName:50 ProductAnnouncementDate:date ProductValidityDate:date ProductObsolescenceDate:date CustomsCommodityCode:6-16 FactorCustomsCommodityCode:price CountryOfOrigin[]:country
ProductIdentification.BrandDetails[]
ProductIdentification.BrandDetails.BrandSeries[] Language:language BrandSeries!:50
ProductIdentification.BrandDetails.BrandSeriesVariation[] Language:language BrandSeriesVariation!:50
ProductDetails ProductStatus:status ProductType:PHYSICAL|CONTRACT|LICENCE|SERVICE CustomisableProduct:boolean HasSerialNumber:boolean WarrantyConsumer:integer WarrantyBusiness:integer RelatedManufacturerProductGroup[]:50
ProductDetails.ProductDescriptions[]! DescriptionLanguage:language MinimalProductDescription!:80 UniqueMainProductDescription:255 FullProductDescription:10000 ProductMarketingText:10000 ProductSpecificationText:10000 ProductApplicationInstructions:10000 ProductKeyword[]:50 ProductPageUrl:uri
ProductRelations[] RelationType!:relation
ProductRelations.RelatedProducts[]! RelatedManufacturerProductNumber!:35 RelatedProductGtin[]:gtin RelatedProductQuantity:count
Legislation ElectricComponentContained:boolean BatteryContained:boolean WeeeCategory:1|2|3|4|5|6 RohsIndicator:true|false|exempt RohsExemptionNumber:20 CeMarking:boolean SdsIndicator:boolean ReachIndicator:true|false|no_data ReachDate:date ScipNumber:36-36 UfiCode:^[a-zA-Z0-9]{4}-[a-zA-Z0-9]{4}-[a-zA-Z0-9]{4}-[a-zA-Z0-9]{4}$ UnNumber:^\d{4}$ HazardClass[]:1|2.1|2.2|2.3|3|4.1|4.2|4.3|5.1|5.2|6.1|6.2|7|8|9 AdrCategory:0|1|2|3|4 NetWeightHazardousSubstances:decimal VolumeHazardousSubstances:decimal PackingGroup:I|II|III LimitedQuantities:boolean ExceptedQuantities:boolean AggregationState:L|S|G SpecialProvisionId[]:^SP\d{2,3}$ ClassificationCode:5 HazardLabel[]:3 EnvironmentalHazards:boolean TunnelCode:A|B|B1000C|B/D|B/E|C|C5000D|C/D|C/E|D|D/E|E LabelCode[]:GHS01|GHS02|GHS03|GHS04|GHS05|GHS06|GHS07|GHS08|GHS09 SignalWord:D|W HazardStatement[]:4-6 PrecautionaryStatement[]:^P\d{3}$ LiIonTested:boolean LithiumAmount:decimal BatteryEnergy:decimal Nos274:boolean HazardTrigger[]:100 EprelRegistrationNumber:^\d{1,19}$
Legislation.SvhcIdentification[] CasNumber:^\d{2,7}-\d{2}-\d$ EcNumber:^\d{3}-\d{3}-\d$
Legislation.UnShippingName[] Language:language UnShippingName!:255
LcaEnvironmental EpdValidityStartDate:date EpdValidityExpiryDate:date ThirdPartyVerification!:none|internally|externally EpdOperatorName:100 EpdOperatorUri:uri OperatorEpdId:35 ManufacturerEpdId:35 ProductCategoryRulesDescription:100 ProductCategoryRulesUri:uri ProductSpecificRulesDescription:100 ProductSpecificRulesUri:uri DeclaredUnitUnit!:KGM|LTR|MTK|MTQ|MTR|PCE|TNE|FOT|FTK|FTQ|LBR|LTN|YDK|YRD DeclaredUnitQuantity!:price LcaReferenceLifetime!:integer
LcaEnvironmental.FunctionalUnitDescription[] Language:language FunctionalUnitDescription!:10000
LcaEnvironmental.LcaDeclaration[]+! LifeCycleStage!:A1|A2|A3|A1-A3|A4|A5|B1|B2|B3|B4|B5|B6|B7|B1-B7|C1|C2|C3|C4|C1-C4|D LcaDeclarationIndicator!:MDE|MND|MNR|AGG DeclaredUnitGwpTotal:number DeclaredUnitGwpFossil:number DeclaredUnitGwpBiogenic:number DeclaredUnitGwpLuluc:number DeclaredUnitAp:number DeclaredUnitEpFreshwater:number DeclaredUnitEpMarine:number DeclaredUnitEpTerrestrial:number DeclaredUnitPocp:number DeclaredUnitOdp:number DeclaredUnitAdpe:number DeclaredUnitAdpf:number DeclaredUnitWdp:number DeclaredUnitPert:number DeclaredUnitPenrt:number DeclaredUnitPm:number DeclaredUnitIrp:number DeclaredUnitEtpfw:number DeclaredUnitHtpc:number DeclaredUnitHtpnc:number DeclaredUnitSqp:number
ProductAttachments[] AttachmentType!:attachment AttachmentTypeSpecification:specification AttachmentOrder:count
ProductAttachments.AttachmentDetails[]+! AttachmentLanguage[]:language AttachmentFilename:100 AttachmentUri!:uri AttachmentIssueDate:date AttachmentExpiryDate:date
ProductAttachments.AttachmentDetails.AttachmentDescription[] Language:language AttachmentDescription!:255
EtimClassification[] EtimReleaseVersion!:^\d{1,2}\.\d|DYNAMIC$ EtimClassCode!:^EC\d{6}$ EtimClassVersion:count EtimDynamicReleaseDate:date EtimModellingClassCode:^MC\d{6}$ EtimModellingClassVersion:count
EtimClassification.EtimFeatures[] EtimFeatureCode!:^EF(\d{6}|I\d{5}|[A-Z]{2}\d{4})$ EtimValueCode:^EV\d{6}$ EtimValueNumeric:signed EtimValueRangeLower:signed EtimValueRangeUpper:signed EtimValueLogical:boolean ReasonNoValue:MV|NA|UN
EtimClassification.EtimFeatures.EtimValueDetails[] Language:language EtimValueDetails!:255
EtimClassification.EtimModellingPorts[] EtimModellingPortcode!:integer EtimModellingConnectionTypeCode:^CT\d{6}$ EtimModellingConnectionTypeVersion:count
EtimClassification.EtimModellingPorts.EtimModellingFeatures[] EtimFeatureCode!:^EF(\d{6}|I\d{5})$ EtimValueCode:^EV\d{6}$ EtimValueNumeric:signed EtimValueRangeLower:signed EtimValueRangeUpper:signed EtimValueLogical:boolean EtimValueCoordinateX:signed EtimValueCoordinateY:signed EtimValueCoordinateZ:signed
EtimClassification.EtimModellingPorts.EtimModellingFeatures.EtimValueMatrix[] EtimValueMatrixSource!:signed EtimValueMatrixResult!:signed
OtherClassifications[] ClassificationName!:35 ClassificationVersion:10 ClassificationClassCode!:100
OtherClassifications.ClassificationFeatures[] ClassificationFeatureName!:100 ClassificationFeatureValue1!:100 ClassificationFeatureValue2:100 ClassificationFeatureUnit:100
ProductCountrySpecificFields[] CSProductCharacteristicCode!:60 CSProductCharacteristicValueBoolean:boolean CSProductCharacteristicValueNumeric:signed CSProductCharacteristicValueRangeLower:signed CSProductCharacteristicValueRangeUpper:signed CSProductCharacteristicValueSelect:60 CSProductCharacteristicMultivalueSelect[]:60 CSProductCharacteristicValueUnitCode:3 CSProductCharacteristicReferenceGtin[]:gtin
ProductCountrySpecificFields.CSProductCharacteristicName[] Language:language CSProductCharacteristicName!:255
ProductCountrySpecificFields.CSProductCharacteristicValueString[] Language:language CSProductCharacteristicValueString!:4000
ProductCountrySpecificFields.CSProductCharacteristicValueSet[] Language:language CSProductCharacteristicValueSet[]!:255
TradeItem[]
TradeItem.ItemIdentification! SupplierItemNumber!:35 SupplierAltItemNumber:35 ManufacturerItemNumber:35 ItemGtin[]:gtin BuyerItemNumber:35 DiscountGroupId:20 BonusGroupId:20 ItemValidityDate:date ItemObsolescenceDate:date
TradeItem.ItemIdentification.DiscountGroupDescription[] Language:language DiscountGroupDescription!:100
TradeItem.ItemIdentification.BonusGroupDescription[] Language:language BonusGroupDescription!:100
TradeItem.ItemDetails ItemStatus:status ItemCondition:NEW|USED|REFURBISHED StockItem:boolean ShelfLifePeriod:integer
TradeItem.ItemDetails.ItemDescriptions[]+! DescriptionLanguage:language MinimalItemDescription!:80 UniqueMainItemDescription:255
TradeItem.ItemRelations[] RelatedSupplierItemNumber!:35 RelatedManufacturerItemNumber:35 RelatedItemGtin[]:gtin RelationType!:relation RelatedItemQuantity!:count
TradeItem.ItemLogisticDetails[] BaseItemNetLength:decimal BaseItemNetWidth:decimal BaseItemNetHeight:decimal BaseItemNetDiameter:decimal NetDimensionUnit:dimension BaseItemNetWeight:decimal NetWeightUnit:weight BaseItemNetVolume:decimal NetVolumeUnit:FTQ|INQ|MTQ|MMQ|OZA|GLL|LTR|MLT|PT|QT
TradeItem.Ordering! OrderUnit!:quantityUnit MinimumOrderQuantity!:decimal OrderStepSize!:decimal StandardOrderLeadTime:integer UseUnit:quantityUnit UseUnitConversionFactor:decimal SingleUseUnitQuantity:decimal AlternativeUseUnit:quantityUnit AlternativeUseUnitConversionFactor:decimal
TradeItem.Pricing[]! PriceUnit!:quantityUnit PriceUnitFactor:price PriceQuantity!:^\d{1,5}\.?\d{0,4}$ PriceOnRequest:boolean GrossListPrice:price NetPrice:price RecommendedRetailPrice:price Vat:^\d{1,2}\.?\d{0,2}$ PriceValidityDate:date PriceExpiryDate:date
TradeItem.Pricing.AllowanceSurcharge[] AllowanceSurchargeIndicator!:ALLOWANCE|SURCHARGE AllowanceSurchargeValidityDate:date AllowanceSurchargeType!:AAT|ABL|ADO|ADR|ADZ|AEM|AEO|AEP|AEQ|CAI|DAE|DBD|FC|HD|INS|MAC|MAT|PAD|PI|QD|RAD|SH|TD|WHE|X21 AllowanceSurchargeAmount:price AllowanceSurchargeSequenceNumber:count AllowanceSurchargePercentage:^\d{1,3}\.?\d{0,3}$ AllowanceSurchargeMinimumQuantity:decimal
TradeItem.Pricing.AllowanceSurcharge.AllowanceSurchargeDescription[] Language:language AllowanceSurchargeDescription!:35
TradeItem.ItemAttachments[] AttachmentType!:attachment AttachmentTypeSpecification:specification
TradeItem.ItemAttachments.AttachmentDetails[]! AttachmentLanguage[]:language AttachmentFilename:100 AttachmentUri!:uri AttachmentIssueDate:date AttachmentExpiryDate:date
TradeItem.ItemAttachments.AttachmentDetails.AttachmentDescription[] Language:language AttachmentDescription!:255
TradeItem.ItemCountrySpecificFields[] CSItemCharacteristicCode!:60 CSItemCharacteristicValueBoolean:boolean CSItemCharacteristicValueNumeric:signed CSItemCharacteristicValueRangeLower:signed CSItemCharacteristicValueRangeUpper:signed CSItemCharacteristicValueSelect:60 CSItemCharacteristicMultivalueSelect[]:60 CSItemCharacteristicValueUnitCode:3 CSItemCharacteristicReferenceGtin[]:gtin
TradeItem.ItemCountrySpecificFields.CSItemCharacteristicName[] Language:language CSItemCharacteristicName!:255
TradeItem.ItemCountrySpecificFields.CSItemCharacteristicValueString[] Language:language CSItemCharacteristicValueString!:4000
TradeItem.ItemCountrySpecificFields.CSItemCharacteristicValueSet[] Language:language CSItemCharacteristicValueSet[]!:255
TradeItem.PackagingUnit[]
TradeItem.PackagingUnit.PackagingIdentification! SupplierPackagingNumber:35 ManufacturerPackagingNumber:35 PackagingGtin[]:gtin PackagingTypeCode!:BE|BG|BJ|BO|BR|BX|C62|CA|CL|CQ|CR|CS|CT|CY|D99|DR|EV|KG|NE|PA|PF|PK|PL|PR|PU|RG|RL|RO|SA|SET|TN|TU|WR|Z2|Z3 PackagingQuantity:decimal TradeItemPrimaryPackaging:boolean PackagingGs1Code128:48 PackagingBreak:boolean NumberOfPackagingParts:count
TradeItem.PackagingUnit.PackagingIdentification.PackagingUnitName[] Language:language PackagingUnitName!:20
TradeItem.PackagingUnit.PackagingLogisticDetails[] SupplierPackagingPartNumber:35 ManufacturerPackagingPartNumber:35 PackagingPartGtin[]:gtin PackagingTypeLength:decimal PackagingTypeWidth:decimal PackagingTypeHeight:decimal PackagingTypeDiameter:decimal PackagingTypeDimensionUnit:dimension PackagingTypeWeight:decimal PackagingTypeWeightUnit:weight SerialNumberOnPackaging:boolean StackingFactor:count PackagingTippable:boolean
TradeItem.PackagingUnit.PackagingLogisticDetails.PackagingMaterial[] RecyclabilityPerformanceGrade:A|B|C|NO_GRADE
TradeItem.PackagingUnit.PackagingLogisticDetails.PackagingMaterial.PackagingMaterials[]! PackagingMaterialType!:GLASS|PAPER/CARDBOARD|METAL|PLASTIC|WOOD/CORK|TEXTILE|CERAMICS/PORCELAIN|OTHERS PackagingMaterialCategory:1|2|3|4|5|6|7|8|9|10|11|12|13|14|15|16|17|18|19|20|21|22 CompositePackagingMaterial:boolean PackagingMaterialWeight!:decimal PackagingMaterialWeightUnit!:weight PackagingMaterialPercentageRecycled:^\d{1,3}\.?\d{0,2}$ PackagingMaterialColoured:boolean PackagingMaterialRecyclable:boolean PackagingMaterialCompostable:boolean PackagingMaterialBiodegradable:boolean PackagingMaterialReusable:boolean
TradeItem.PackagingUnit.PackagingLogisticDetails.PackagingMaterial.PackagingMaterials.PackagingMaterialSpecification[] Language:language PackagingMaterialSpecification!:255
TradeItem.PackagingUnit.TradeItemEnclosed[] SupplierItemNumber!:35 ManufacturerItemNumber:35 ItemGtin[]:gtin EnclosedItemQuantity!:count
`;

/** Forms that many members share. */
export const ETIM_FORMS: Readonly<Record<string, string>> = {
  status: 'PRE-LAUNCH|ACTIVE|ON_HOLD|PLANNED_WITHDRAWAL|OBSOLETE',
  relation:
    'ACCESSORY|CONSISTS_OF|CONSUMABLES|CROSS-SELLING|MAIN_PRODUCT|MANDATORY|PREDECESSOR|REFURBISHED|SELECT|SIMILAR|SPAREPART|SUCCESSOR|UPSELLING|USED|OTHER',
  attachment:
    'ATX001|ATX002|ATX003|ATX004|ATX010|ATX011|ATX012|ATX013|ATX014|ATX015|ATX016|ATX017|ATX018|ATX019|ATX020|ATX021|ATX022|ATX023|ATX024|ATX025|ATX026|ATX099',
  specification:
    'MDX002|MDX005|MDX007|MDX008|MDX010|MDX012|MDX013|MDX014|MDX015|MDX016|MDX017|MDX018|MDX019|MDX020|MDX021|MDX022|MDX023|MDX024|MDX025|MDX026|MDX027|MDX028|MDX029|MDX030|MDX033|MDX034|MDX035|MDX037|MDX038|MDX039|MDX041|MDX042|MDX045|MDX047|MDX048|MDX049|MDX050|MDX051|MDX052|MDX053|MDX054|MDX055|MDX057|MDX058|MDX059|MDX060|MDX061|MDX062|MDX063|MDX064|MDX065|MDX100|MDX101|MDX102|MDX103|MDX104|MDX105|MDX106|MDX107|MDX108|MDX109|MDX999',
  dimension: 'CMT|DMT|KMT|MMT|MTR|FOT|INH|SMI|YRD',
  weight: 'GRM|KGM|MGM|TNE|LTN|LBR|ONZ',
  quantityUnit:
    'ANN|BE|BG|BO|BX|C62|CA|CI|CL|CMK|CMQ|CMT|CQ|CR|CS|CT|D99|DAY|DR|DZN|FOT|FTQ|GRM|HLT|HUR|INH|INQ|KG|KGM|KTM|LBR|LTN|LTR|MGM|MIN|MLT|MMK|MMQ|MMT|MTK|MTQ|MTR|ONZ|PA|PF|PK|PL|PR|PU|RG|RL|RO|SA|SEC|SET|SMI|ST|TN|TNE|TU|WEE|YRD|Z2|Z3',
};
