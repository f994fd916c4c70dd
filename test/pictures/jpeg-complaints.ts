/** Faults of a JPEG as such, whatever it shows. */
import type { Size } from '../../src/model/call.ts';
import { runTool } from '../support/debian-tools.ts';
import { jpegStructure } from '../support/jpeg-structure.ts';
import { decodeByDjpeg } from '../support/pixel-map.ts';

/** Checks its bytes: baseline, 4:2:0, of this size, marked as full range. */
export function structureComplaints(jpeg: Uint8Array, { width, height }: Size): string[] {
  const found = jpegStructure(jpeg);
  const complaints = [
    found.frameMarker === 0xc0 ? '' : `frame header ${found.frameMarker.toString(16)}`,
    found.bitsPerSample === 8 ? '' : `${found.bitsPerSample} bits a sample`,
    found.sampling.join(' ') === '2x2 1x1 1x1' ? '' : `sampling ${found.sampling.join(' ')}`,
    found.width === width && found.height === height ? '' : `${found.width}x${found.height}`,
    found.isJfif ? '' : 'no JFIF mark',
    // FFmpeg's own mark of a limited range, which other programs ignore.
    found.comments.some((comment) => comment.startsWith('CS=')) ? 'limited range' : '',
    found.isEnded ? '' : 'no end',
  ];
  return complaints.filter((complaint) => complaint !== '');
}

interface Probed {
  readonly streams: readonly { readonly codec_name: string; readonly profile: string }[];
  readonly frames: readonly object[];
}

/** Checks all with ffprobe, and the first and the last with djpeg. */
export async function decoderComplaints(jpegs: readonly Uint8Array[], size: Size): Promise<string[]> {
  const probed = await probe(jpegs);
  const { codec_name: codec, profile } = probed.streams[0] ?? {};
  const wanted = JSON.stringify({ ...size, pix_fmt: 'yuvj420p', color_range: 'pc' });
  const strange = probed.frames.map((frame) => JSON.stringify(frame)).filter((frame) => frame !== wanted);
  const maps = await Promise.all([...new Set([jpegs[0], jpegs.at(-1)])].map((jpeg) => mapSize(jpeg)));
  return [
    ...(codec === 'mjpeg' && profile === 'Baseline' ? [] : [`ffprobe: ${codec} ${profile}`]),
    ...(probed.frames.length === jpegs.length ? [] : [`ffprobe: ${probed.frames.length} pictures`]),
    ...strange.map((frame) => `ffprobe: ${frame}`),
    ...maps.filter((found) => found !== `${size.width}x${size.height}`).map((found) => `djpeg: ${found}`),
  ];
}

async function probe(jpegs: readonly Uint8Array[]): Promise<Probed> {
  const entries = 'stream=codec_name,profile:frame=width,height,pix_fmt,color_range';
  const input = ['-v', 'error', '-f', 'mjpeg', '-i', 'pipe:0'];
  const args = [...input, '-show_entries', entries, '-of', 'json=compact=1'];
  return JSON.parse((await runTool('ffprobe', args, Buffer.concat(jpegs))).toString()) as Probed;
}

async function mapSize(jpeg: Uint8Array = new Uint8Array()): Promise<string> {
  const { width, height } = await decodeByDjpeg(jpeg);
  return `${width}x${height}`;
}
