/** UTF-8 measured and checked without copying. */

/**
 * Bytes that `text` takes in UTF-8, or -1 when it holds a lone surrogate and so has no UTF-8 form.
 * Walks the string: cheaper than encoding it for the short ids it is used on.
 */
export function utf8Length(text: string): number {
  let bytes = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) bytes += 1;
    else if (unit < 0x800) bytes += 2;
    else if (unit < 0xd800 || unit > 0xdfff) bytes += 3;
    else if (unit > 0xdbff || !isLowSurrogate(text.charCodeAt(i + 1))) return -1;
    else {
      bytes += 4;
      i += 1;
    }
  }
  return bytes;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

const strictDecoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The text of `bytes`, or null when they are not valid UTF-8. A BOM is kept as a character. */
export function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return strictDecoder.decode(bytes);
  } catch {
    return null;
  }
}
