import { readSmallBytes } from './small-file.ts';
import { variableError } from './values.ts';

/** Every page embeds the logo, as a picture and as its icon. */
const MAX_KIB = 32;

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/**
 * Reads a square SVG or PNG as a `data:` URL. Throws `bad_config`, naming the variable, if the file can't be read, is larger than
 * 32 KiB, has another format, or is not square.
 */
export function readLogo(name: string, path: string): string {
  const bytes = Buffer.from(readSmallBytes({ name, path, maxKib: MAX_KIB, code: 'bad_config' }));
  const picture = readPng(bytes) ?? readSvg(bytes.toString());
  if (picture === null) throw variableError(name, `must name an SVG or PNG file: ${path}`);
  const { type, width, height } = picture;
  if (width !== height) throw variableError(name, `must name a square picture; it is ${width} × ${height}: ${path}`);
  return `data:${type};base64,${bytes.toString('base64')}`;
}

type Picture = { type: string; width: number; height: number };

/** The size of a PNG, from its first chunk (W3C PNG, section 11.2.1). */
function readPng(bytes: Buffer): Picture | null {
  if (bytes.length < 24 || !bytes.subarray(0, PNG.length).equals(PNG)) return null;
  return { type: 'image/png', width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}

/** The size of an SVG: its `viewBox`, or its width and height. Browsers do not display an SVG without the namespace. */
function readSvg(text: string): Picture | null {
  const root = /<svg\b[^>]*>/.exec(text)?.[0];
  if (root === undefined || !/\sxmlns=["']http:\/\/www\.w3\.org\/2000\/svg["']/.test(root)) return null;
  const box = /\sviewBox=["']\s*[-\d.]+[\s,]+[-\d.]+[\s,]+([\d.]+)[\s,]+([\d.]+)\s*["']/.exec(root);
  const [width, height] =
    box === null
      ? ['width', 'height'].map((side) => new RegExp(`\\s${side}=["']([\\d.]+)`).exec(root)?.[1])
      : box.slice(1);
  return width === undefined || height === undefined
    ? null
    : { type: 'image/svg+xml', width: Number(width), height: Number(height) };
}
