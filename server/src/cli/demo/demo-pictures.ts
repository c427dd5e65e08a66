import type { Server } from '../../http/http.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { DemoProduct } from './demo-catalog.ts';

/** Pictures of the products of the demo, drawn as they are asked for: an invented shop has no photographs. */

const PATH = '/demo/pictures';
const DAY_SECONDS = 86_400;
/** In pixels, by the folder of the address; `detail` is a part of the drawing. */
const SIZES: Readonly<Record<string, number>> = { large: 640, detail: 640, small: 160, thumb: 64 };

/** Each line of products in a square of 100. */
const DRAWINGS: Readonly<Record<string, string>> = {
  bike: '<g fill="none"><circle cx="27" cy="63" r="17"/><circle cx="73" cy="63" r="17"/><path d="M27 63 41 39h23l9 24M41 39l9 24 14-24M50 63H27M36 33h11M64 39l-2-9h9"/></g>',
  tyre: '<g fill="none"><circle cx="50" cy="50" r="34" stroke-width="9"/><circle cx="50" cy="50" r="39" stroke-dasharray="3 4"/><circle cx="50" cy="50" r="26"/></g>',
  tube: '<g fill="none"><circle cx="50" cy="48" r="32"/><circle cx="50" cy="48" r="24"/><path d="M50 72v16M46 88h8"/></g>',
  pad: '<rect x="18" y="30" width="64" height="38" rx="10"/><rect x="26" y="38" width="48" height="22" rx="5" fill="#fff"/><path d="M50 38v22"/>',
  chain:
    '<g fill="none"><circle cx="22" cy="50" r="7"/><circle cx="50" cy="50" r="7"/><circle cx="78" cy="50" r="7"/><path d="M22 38h28a12 12 0 0 1 0 24H22a12 12 0 0 1 0-24zM50 38h28a12 12 0 0 1 0 24H50"/></g>',
  cass: '<circle cx="50" cy="50" r="36" stroke-dasharray="5 4"/><circle cx="50" cy="50" r="27" fill="#fff" stroke-dasharray="4 3"/><circle cx="50" cy="50" r="18"/><circle cx="50" cy="50" r="7" fill="#fff"/>',
  cam: '<path d="M34 32l4-8h24l4 8"/><rect x="14" y="32" width="72" height="46" rx="7"/><circle cx="50" cy="55" r="16" fill="#fff"/><circle cx="50" cy="55" r="8"/><path d="M74 41h4"/>',
  batt: '<path d="M38 18h8M54 18h8"/><rect x="30" y="20" width="40" height="62" rx="6"/><path d="M54 32 42 54h8l-4 16 12-22h-8z" fill="#fff"/>',
  card: '<path d="M28 16h30l14 14v54H28z"/><path d="M36 24v12M44 24v12M52 24v12"/><rect x="36" y="50" width="28" height="22" rx="2" fill="#fff"/>',
  tent: '<path d="M10 78 50 20l40 58z"/><path d="M50 20 38 78h24z" fill="#fff"/><path d="M6 78h88"/>',
  sleep:
    '<rect x="28" y="10" width="44" height="80" rx="22"/><path d="M38 32a12 12 0 0 1 24 0v8H38z" fill="#fff"/><path d="M50 40v44"/>',
  mat: '<path d="M14 40h60v26H14z"/><circle cx="74" cy="53" r="14"/><circle cx="74" cy="53" r="7" fill="#fff"/>',
  pack: '<path d="M40 26v-8h20v8" fill="none"/><rect x="26" y="26" width="48" height="58" rx="13"/><rect x="35" y="54" width="30" height="21" rx="5" fill="#fff"/><path d="M35 42h30"/>',
  shoe: '<path d="M14 42q12 8 22-4l24 20q24 2 26 12v8H14z"/><path d="M14 70h72M44 46l-6 7M51 51l-6 7"/>',
  wear: '<path d="M36 18 14 32l9 16 8-5v39h38V43l8 5 9-16-22-14q-14 12-28 0z"/>',
  lens: '<rect x="24" y="18" width="52" height="64" rx="7"/><path d="M24 34h52M24 62h52M34 40v16M42 40v16M50 40v16M58 40v16M66 40v16"/><ellipse cx="50" cy="22" rx="20" ry="6" fill="#fff"/>',
  filt: '<circle cx="50" cy="50" r="33" /><circle cx="50" cy="50" r="25" fill="#fff"/><path d="M36 46a16 16 0 0 1 10-12" fill="none"/>',
};

/** Hue, saturation and lightness of the colours that identifiers name; of others the name decides. */
const COLOURS: readonly (readonly [name: string, hue: number, saturation: number, lightness: number])[] = [
  ['black', 210, 6, 30],
  ['silver', 210, 8, 72],
  ['sand', 38, 45, 72],
  ['olive', 75, 35, 48],
  ['petrol', 188, 50, 45],
  ['red', 4, 65, 60],
  ['blue', 218, 50, 52],
  ['green', 140, 38, 52],
  ['grey', 210, 6, 60],
];

/** @returns the products with pictures that this process draws. @param address  where it is reached */
export const withPictures = (products: readonly DemoProduct[], address: string): DemoProduct[] =>
  products.map((product) => {
    const colour = product.attributes.find(({ key }) => key === 'Colour')?.value.toLowerCase() ?? '';
    const ending = `${colour && '-'}${colour.replaceAll(' ', '-')}.svg`;
    const draw = (url: string) => `${address}${PATH}${new URL(url).pathname.replace(/\.jpg$/, ending)}`;
    return { ...product, images: product.images.map(({ url, type }) => ({ url: draw(url), type })) };
  });

/** Serves them without a key, as any shop does. */
export function servePictures(server: Server): void {
  const route = { config: { guard: 'none' }, schema: { hide: true } } as const;
  server.get(`${PATH}/:size/:file`, route, async (request, reply) => {
    const { size, file } = request.params as { size: string; file: string };
    const picture = drawPicture(size, file);
    if (picture === undefined) throw new ServiceError('not_found');
    return reply
      .headers({
        'content-type': 'image/svg+xml',
        'cache-control': `public, max-age=${DAY_SECONDS}`,
        'content-security-policy': "default-src 'none'",
      })
      .send(picture);
  });
}

/** @returns an SVG; undefined for a name that no product of the demo has */
export function drawPicture(size: string, file: string): string | undefined {
  const [, line = '', name = ''] = /^([a-z]+)-([a-z0-9-]{4,80})\.svg$/.exec(file) ?? [];
  const [drawing, pixels] = [DRAWINGS[line], SIZES[size]];
  if (drawing === undefined || pixels === undefined) return undefined;
  const [, hue, saturation, lightness] = COLOURS.find(([word]) => name.includes(word)) ?? [
    '',
    hueOf(name),
    42,
    58,
  ];
  const colour = (light: number) => `hsl(${hue} ${saturation}% ${light}%)`;
  const box = size === 'detail' ? '30 30 45 45' : '0 0 100 100';
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${pixels}" height="${pixels}" viewBox="${box}"><path fill="${colour(96)}" d="M0 0h100v100H0z"/><g fill="${colour(lightness)}" stroke="${colour(Math.max(14, lightness - 34))}" stroke-width="2.5" stroke-linecap="round" stroke-linejoin="round">${drawing}</g></svg>`;
}

const HUES = [172, 28, 205, 262, 345, 92];

/** Without a colour of their own the groups of a line differ, and the variants of a group are alike. */
const hueOf = (name: string): number => HUES[Number.parseInt(name, 10) % HUES.length] ?? 0;
