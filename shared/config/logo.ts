import { readSmallBytes } from './small-file.ts';
import { variableError } from './values.ts';

/** Every page embeds the logo, as a picture and as its icon. */
const MAX_KIB = 32;

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/**
 * Reads a square SVG or PNG as a `data:` URL. Throws `bad_config`, naming the variable and the reason, if the file can't be read,
 * is larger than 32 KiB, or is nothing that a browser would show as a square picture.
 */
export function readLogo(name: string, path: string): string {
  const bytes = Buffer.from(readSmallBytes({ name, path, maxKib: MAX_KIB, code: 'bad_config' }));
  const isPng = bytes.subarray(0, PNG.length).equals(PNG);
  const picture = isPng ? readPng(bytes) : readSvg(bytes.toString());
  if (typeof picture === 'string') throw variableError(name, `must name an SVG or PNG file: ${path} ${picture}`);
  const { type, width, height } = picture;
  if (!(width > 0 && height > 0)) throw variableError(name, `must name a picture with a size: ${path} has none`);
  if (width !== height) throw variableError(name, `must name a square picture; it is ${width} × ${height}: ${path}`);
  return `data:${type};base64,${bytes.toString('base64')}`;
}

/** A picture and its size, or why it is none. */
type Picture = { type: string; width: number; height: number } | string;

/** The size of a PNG, from its first chunk (W3C PNG, section 11.2.1). It must have all chunks to its end, and pixels. */
function readPng(bytes: Buffer): Picture {
  const chunks: string[] = [];
  for (let at = PNG.length; at + 12 <= bytes.length && chunks.at(-1) !== 'IEND'; at += 12 + bytes.readUInt32BE(at)) {
    chunks.push(bytes.toString('latin1', at + 4, at + 8));
  }
  if (chunks[0] !== 'IHDR' || !chunks.includes('IDAT') || chunks.at(-1) !== 'IEND') return 'is an incomplete PNG';
  return { type: 'image/png', width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}

/** What may stand before the root of an SVG: a byte order mark, the XML declaration, comments and a document type. */
const PROLOGUE = /^\uFEFF?(?:\s+|<\?[\s\S]*?\?>|<!--[\s\S]*?-->|<!DOCTYPE[^>[]*(?:\[[^\]]*\])?\s*>)*/i;

/** The size of an SVG: its `viewBox`, or its width and height. Browsers do not display an SVG without the namespace. */
function readSvg(text: string): Picture {
  const root = /^<svg\b[^>]*>/.exec(text.replace(PROLOGUE, ''))?.[0];
  if (root === undefined) return 'is neither: it begins with no <svg>';
  if (!/\sxmlns=["']http:\/\/www\.w3\.org\/2000\/svg["']/.test(root)) {
    return 'lacks xmlns="http://www.w3.org/2000/svg", without which browsers do not show it';
  }
  const box = /\sviewBox=["']\s*[-\d.]+[\s,]+[-\d.]+[\s,]+([\d.]+)[\s,]+([\d.]+)\s*["']/.exec(root);
  const [width, height] =
    box === null
      ? ['width', 'height'].map((side) => new RegExp(`\\s${side}=["']([\\d.]+)`).exec(root)?.[1])
      : box.slice(1);
  if (width === undefined || height === undefined) return 'has neither a viewBox nor width and height';
  return { type: 'image/svg+xml', width: Number(width), height: Number(height) };
}
