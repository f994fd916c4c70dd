/** A font of three columns and five rows, for text in pictures that must be read without any file of fonts. */
import type { Size } from '../../model/call.ts';

const columns = 3;
const rows = 5;

/** Rows from the top, the leftmost column the highest bit. What is not here is drawn as a blank. */
const glyphs: Readonly<Record<string, number>> = {
  '0': 0b111_101_101_101_111,
  '1': 0b010_110_010_010_111,
  '2': 0b111_001_111_100_111,
  '3': 0b111_001_111_001_111,
  '4': 0b101_101_111_001_001,
  '5': 0b111_100_111_001_111,
  '6': 0b111_100_111_101_111,
  '7': 0b111_001_010_010_010,
  '8': 0b111_101_111_101_111,
  '9': 0b111_101_111_001_111,
  A: 0b010_101_111_101_101,
  B: 0b110_101_110_101_110,
  C: 0b011_100_100_100_011,
  D: 0b110_101_101_101_110,
  E: 0b111_100_110_100_111,
  F: 0b111_100_110_100_100,
  G: 0b011_100_101_101_011,
  H: 0b101_101_111_101_101,
  I: 0b111_010_010_010_111,
  J: 0b001_001_001_101_010,
  K: 0b101_101_110_101_101,
  L: 0b100_100_100_100_111,
  M: 0b101_111_111_101_101,
  N: 0b110_101_101_101_101,
  O: 0b010_101_101_101_010,
  P: 0b110_101_110_100_100,
  Q: 0b010_101_101_110_011,
  R: 0b110_101_110_101_101,
  S: 0b011_100_010_001_110,
  T: 0b111_010_010_010_010,
  U: 0b101_101_101_101_111,
  V: 0b101_101_101_101_010,
  W: 0b101_101_111_111_101,
  X: 0b101_101_010_101_101,
  Y: 0b101_101_010_010_010,
  Z: 0b111_001_010_100_111,
  '×': 0b000_101_010_101_000,
  _: 0b000_000_000_000_111,
  '.': 0b000_000_000_000_010,
  ',': 0b000_000_000_010_100,
  ':': 0b000_010_000_010_000,
};

export interface Block {
  readonly x: number;
  readonly y: number;
}

/** In blocks. */
export function textSize(text: string): Size {
  return { width: Math.max(0, text.length * (columns + 1) - 1), height: rows };
}

/** The blocks that make up the text in capital letters, from its upper left corner. */
export function textBlocks(text: string): Block[] {
  return text
    .toUpperCase()
    .split('')
    .flatMap((character, place) => {
      const glyph = glyphs[character] ?? 0;
      return Array.from({ length: columns * rows }, (_, cell) => cell)
        .filter((cell) => ((glyph >> (columns * rows - 1 - cell)) & 1) === 1)
        .map((cell) => ({ x: place * (columns + 1) + (cell % columns), y: Math.floor(cell / columns) }));
    });
}
