/**
 * Units of measurement as data. Factors are exact: SI Brochure, 9th edition (BIPM 2019), tables 2 to 8; NIST SP 811
 * (2008), appendix B, for non-SI units (inch, pound and gallon of 1959); ISO/IEC 80000-13 for binary multiples; DIN
 * 66036 for PS. Each dimension lists its units. The parts of a unit are its symbol, an offset if it has one, its factor
 * to the first unit, and its other spellings. The symbol names the unit where several spellings are used together. The
 * factor is a decimal or a quotient. Spellings with four letters or more match in any case. Shorter ones match exactly,
 * because mW is not MW.
 */
export const UNIT_TABLE: Readonly<Record<string, string>> = {
  length: `
    m 1 meter meters metre metres mtr | km 1000 KM kilometer kilometers kilometre kilometres |
    dm 0.1 dezimeter decimeter decimetre |
    cm 0.01 CM zentimeter centimeter centimeters centimetre centimetres |
    mm 0.001 MM millimeter millimeters millimetre millimetres |
    µm 0.000001 μm um mikrometer micrometer micron | nm 0.000000001 nanometer nanometre |
    in 0.0254 " ″ ” inch inches zoll | ft 0.3048 ' ′ foot feet fuß fuss | yd 0.9144 yard yards |
    mi 1609.344 mile miles meile meilen | nmi 1852 seemeile seemeilen | mil 0.0000254 thou`,
  area: `
    m² 1 m2 m^2 qm sqm quadratmeter | km² 1000000 km2 km^2 qkm quadratkilometer | dm² 0.01 dm2 dm^2 |
    cm² 0.0001 cm2 cm^2 qcm quadratzentimeter | mm² 0.000001 mm2 mm^2 qmm quadratmillimeter |
    ha 10000 hektar hectare hectares | in² 0.00064516 in2 in^2 sqin | ft² 0.09290304 ft2 ft^2 sqft |
    yd² 0.83612736 yd2 yd^2 sqyd | ac 4046.8564224 acre acres`,
  volume: `
    L 1 l ltr liter liters litre litres | mL 0.001 ml milliliter milliliters millilitre millilitres |
    cL 0.01 cl zentiliter centiliter centilitre | dL 0.1 dl deziliter deciliter decilitre |
    hL 100 hl hektoliter hectoliter hectolitre | µL 0.000001 µl μl μL ul mikroliter microliter |
    m³ 1000 m3 m^3 cbm kubikmeter | dm³ 1 dm3 dm^3 | cm³ 0.001 cm3 cm^3 ccm cc kubikzentimeter |
    mm³ 0.000001 mm3 mm^3 | in³ 0.016387064 in3 in^3 cuin | ft³ 28.316846592 ft3 ft^3 cuft |
    gal 3.785411784 gallon gallons | qt 0.946352946 quart quarts | pint 0.473176473 pints |
    floz 0.0295735295625 fl.oz fl.oz.`,
  mass: `
    kg 1 KG Kg kgs kilo kilogramm kilogram kilograms | g 0.001 gramm gram grams |
    mg 0.000001 milligramm milligram milligrams | µg 0.000000001 μg ug mcg mikrogramm microgram |
    t 1000 to tonne tonnen tonnes | lb 0.45359237 lbs pound pounds |
    oz 0.028349523125 ounce ounces unze unzen | st 6.35029318 stone`,
  time: `
    s 1 sec sek sek. sekunde sekunden second seconds |
    ms 0.001 millisekunde millisekunden millisecond milliseconds |
    µs 0.000001 μs us mikrosekunde mikrosekunden microsecond microseconds |
    ns 0.000000001 nanosekunde nanosekunden nanosecond nanoseconds |
    min 60 min. mins minute minuten minutes | h 3600 hr hrs std std. stunde stunden hour hours |
    d 86400 day days tag tage | wk 604800 week weeks woche wochen`,
  'calendar time': 'mo 1 month months monat monate | yr 12 year years jahr jahre',
  temperature: 'K 1 kelvin | °C +273.15*1 ℃ degC celsius | °F +459.67*5/9 ℉ degF fahrenheit',
  speed: `
    m/s 1 | m/min 1/60 | km/h 1/3.6 kmh kph km/std KM/H KMH | mph 0.44704 MPH mi/h |
    kn 1852/3600 knot knots knoten | ft/s 0.3048 fps`,
  'rotational speed': 'rpm 1 RPM U/min u/min 1/min min-1 min⁻¹ r/min UPM upm | rps 60 U/s 1/s',
  frequency: `
    Hz 1 HZ hz hertz | kHz 1000 KHz KHZ khz kilohertz | MHz 1000000 MHZ Mhz mhz megahertz |
    GHz 1000000000 GHZ Ghz ghz gigahertz | THz 1000000000000 terahertz`,
  power: `
    W 1 watt watts | mW 0.001 milliwatt | kW 1000 KW kilowatt | MW 1000000 megawatt | PS 735.49875 |
    hp 745.69987158227022 HP bhp horsepower | BTU/h 1055.05585262/3600 btu/h Btu/h`,
  'apparent power': 'VA 1 voltampere | kVA 1000 KVA',
  energy: `
    J 1 joule joules | kJ 1000 KJ kilojoule kilojoules | MJ 1000000 megajoule |
    Wh 3600 WH wattstunde wattstunden | kWh 3600000 KWh KWH kwh kilowattstunde kilowattstunden |
    MWh 3600000000 | cal 4.184 | kcal 4184 | BTU 1055.05585262 Btu btu | eV 0.0000000000000000001602176634`,
  voltage: 'V 1 volt volts | mV 0.001 | kV 1000 KV',
  current: 'A 1 ampere amperes amps | mA 0.001 milliampere | µA 0.000001 μA uA | kA 1000',
  charge: 'C 1 coulomb | mAh 3.6 MAH mah | Ah 3600 AH',
  pressure: `
    Pa 1 pascal | hPa 100 | kPa 1000 KPa | MPa 1000000 | bar 100000 Bar BAR | mbar 100 |
    psi 4.4482216152605/0.00064516 PSI | atm 101325 | Torr 101325/760 | mmHg 133.322387415`,
  force: 'N 1 newton | mN 0.001 | kN 1000 KN | lbf 4.4482216152605 | kgf 9.80665 kp',
  torque: `
    Nm 1 N·m N*m newtonmeter | Ncm 0.01 N·cm N*cm | kNm 1000 kN·m |
    lb-ft 1.3558179483314004 lbf-ft lbf·ft ft-lb ft-lbs ft·lb ft·lbf |
    lb-in 0.1129848290276167 lbf-in lbf·in in-lb in-lbs in·lb in·lbf`,
  'data size': `
    B 1 byte bytes | bit 0.125 bits Bit | kbit 125 kb | Mbit 125000 Mb | Gbit 125000000 Gb |
    kB 1000 KB kilobyte | MB 1000000 megabyte | GB 1000000000 gigabyte | TB 1000000000000 terabyte |
    PB 1000000000000000 petabyte | KiB 1024 kibibyte | MiB 1048576 mebibyte | GiB 1073741824 gibibyte |
    TiB 1099511627776 tebibyte | PiB 1125899906842624 pebibyte`,
  'data rate': `
    bit/s 1 bps b/s | kbit/s 1000 kbps kb/s | Mbit/s 1000000 Mbps Mb/s MBit/s |
    Gbit/s 1000000000 Gbps Gb/s GBit/s | B/s 8 | kB/s 8000 KB/s | MB/s 8000000 | GB/s 8000000000 |
    MiB/s 8388608 | GiB/s 8589934592`,
  // A radian has 180 / π degrees, a number with endless decimals; this value has 40 digits.
  angle: `
    ° 1 deg degree degrees grad | gon 0.9 | arcmin 1/60 | arcsec 1/3600 |
    rad 57.29577951308232087679815481410517033241 radian radians`,
  'luminous flux': 'lm 1 lumen | klm 1000',
  'sound level': 'dB 1 DB db dezibel decibel',
  'electric resistance': 'Ω 1 \u2126 ohm Ohm ohms | kΩ 1000 k\u2126 kOhm | MΩ 1000000 M\u2126 MOhm',
  'volume flow': `
    m³/h 1 m3/h cbm/h | L/h 0.001 l/h | L/min 0.06 l/min | CFM 1.69901079552 cfm ft³/min ft3/min`,
  percent: '% 1 percent prozent',
  pieces: 'pcs 1 pc pcs. piece pieces stk stk. Stk Stk. stck Stck. stück stueck',
  euro: '€ 1 EUR euro euros',
  'US dollar': 'USD 1 US$',
  'pound sterling': 'GBP 1 £',
  'Swiss franc': 'CHF 1 SFr. SFr',
  'Polish zloty': 'PLN 1 zł',
};
