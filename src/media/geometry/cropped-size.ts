/** The part of a coded picture that is shown. Source: ITU-T H.264, 7.4.2.1.1, and H.265, 7.4.3.2.1. */
import type { Size } from '../../model/call.ts';
import type { RbspReader } from './rbsp-reader.ts';

/** Columns and rows of luma to one of chroma, by chroma_format_idc: none, 4:2:0, 4:2:2, 4:4:4. */
const chromaSteps = [
  { columns: 1, rows: 1 },
  { columns: 2, rows: 2 },
  { columns: 2, rows: 1 },
  { columns: 1, rows: 1 },
] as const;

/**
 * Reads a cropping flag and, behind it, what is cut off left, right, top and bottom, in steps of chroma; of rows a step
 * is `rowsPerStep` times that. Null: broken, or nothing is left.
 */
export function readCroppedSize(
  reader: RbspReader,
  coded: Size,
  chromaFormat: number,
  rowsPerStep: number,
): Size | null {
  const steps = chromaSteps[chromaFormat];
  const isCropped = reader.bit() === 1;
  const columns = isCropped ? reader.unsigned() + reader.unsigned() : 0;
  const rows = isCropped ? reader.unsigned() + reader.unsigned() : 0;
  if (steps === undefined || reader.isBroken) return null;
  const width = coded.width - columns * steps.columns;
  const height = coded.height - rows * steps.rows * rowsPerStep;
  return width > 0 && height > 0 ? { width, height } : null;
}
