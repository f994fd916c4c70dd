/** Streams of H.264 and H.265 that are damaged or unusual, made from plain ones by moving, changing and omitting units. */
import { outputOf } from './shown-pictures.ts';
import { splitNalUnits } from '../../src/media/geometry/nal-units.ts';
import { chanceFrom } from '../support/seeded-random.ts';
import type { CodedFormat } from '../../src/media/geometry/source-frame.ts';

export interface UnusualStream {
  readonly name: string;
  readonly format: CodedFormat;
  /** Messages of a bridge. */
  readonly messages: readonly Buffer[];
  /** Number of pictures that FFmpeg shows and a call does not: those that a decoder holds back until more arrives. */
  readonly keptBack?: number;
  /** Parts are invented, differently by each decoder. */
  readonly isPaintedOver?: boolean;
}

type Unit = Buffer;
type AccessUnit = readonly Unit[];

export const streamSize = { width: 320, height: 240 };
const startCode = Buffer.from([0, 0, 0, 1]);
const frames = 30;

function encode(
  format: CodedFormat,
  options: string,
  more: readonly string[] = [],
  source = '',
): AccessUnit[] {
  const { width, height } = streamSize;
  const film = [
    '-f',
    'lavfi',
    '-i',
    `testsrc2=s=${width}x${height}:r=15${source}`,
    '-frames:v',
    String(frames),
  ];
  const params = `keyint=10:min-keyint=10:scenecut=0:repeat-headers=1:aud=1:log-level=none:${options}`;
  const coding =
    format === 'h264'
      ? ['-c:v', 'libx264', '-preset', 'veryfast', '-x264-params', `${params}:threads=1`, '-f', 'h264']
      : [
          '-c:v',
          'libx265',
          '-preset',
          'ultrafast',
          '-x265-params',
          `${params}:frame-threads=1`,
          '-f',
          'hevc',
        ];
  const pixels = more.includes('-pix_fmt') ? [] : ['-pix_fmt', 'yuv420p'];
  const args = [
    '-nostdin',
    '-v',
    'error',
    ...film,
    ...pixels,
    ...coding.slice(0, -2),
    ...more,
    ...coding.slice(-2),
    'pipe:1',
  ];
  const units: Unit[][] = [];
  for (const unit of splitNalUnits(outputOf('ffmpeg', args))) {
    if (isDelimiter(unit, format)) units.push([]);
    units.at(-1)?.push(Buffer.from(unit));
  }
  return units;
}

function typeOf(unit: Uint8Array, format: CodedFormat): number {
  const first = unit[0] ?? 0;
  return format === 'h264' ? first & 0x1f : (first >> 1) & 0x3f;
}

function isDelimiter(unit: Uint8Array, format: CodedFormat): boolean {
  return typeOf(unit, format) === (format === 'h264' ? 9 : 35);
}

/** Options for four slices in each picture. */
const slices = { h264: 'slices=4', h265: 'slices=4:ctu=16' };

const sets = { h264: [7, 8], h265: [32, 33, 34] };

function isSet(unit: Unit, format: CodedFormat): boolean {
  return sets[format].includes(typeOf(unit, format));
}

function isSlice(unit: Unit, format: CodedFormat): boolean {
  const type = typeOf(unit, format);
  return format === 'h264' ? type === 1 || type === 5 : type < 32;
}

function join(units: AccessUnit): Buffer {
  return Buffer.concat(units.flatMap((unit) => [startCode, unit]));
}

/** Splits an access unit: parameter sets, slices, and the rest before them. */
function parts(units: AccessUnit, format: CodedFormat) {
  return {
    sets: units.filter((unit) => isSet(unit, format)),
    slices: units.filter((unit) => isSlice(unit, format)),
    rest: units.filter((unit) => !isSet(unit, format) && !isSlice(unit, format)),
  };
}

function hasSets(units: AccessUnit, format: CodedFormat): boolean {
  return units.some((unit) => isSet(unit, format));
}

/** Every key frame, with its number among the key frames. */
function changeKeys(
  stream: readonly AccessUnit[],
  format: CodedFormat,
  change: (units: AccessUnit, key: number) => readonly AccessUnit[],
): Buffer[] {
  let key = 0;
  return stream.flatMap((units) => (hasSets(units, format) ? change(units, key++) : [units])).map(join);
}

function rotated<Item>(items: readonly Item[], by: number): Item[] {
  return items.map((_, index) => items[(index + by) % items.length] as Item);
}

export function unusualStreams(): UnusualStream[] {
  return [...ordersOf('h264'), ...ordersOf('h265'), ...kindsOfH264(), ...kindsOfH265(), ...damaged()];
}

function ordersOf(format: CodedFormat): UnusualStream[] {
  const latency = format === 'h264' ? 'bframes=0:rc-lookahead=0:sync-lookahead=0' : 'bframes=0';
  const plain = encode(format, latency);
  const another = encode(
    format,
    `${latency}:${format === 'h264' ? 'crf=30:me=dia:subme=0:ref=2:8x8dct=0' : 'crf=35:sao=0:amp=0'}`,
  );
  const make = (name: string, messages: readonly Buffer[]): UnusualStream => ({
    name: `${format}: ${name}`,
    format,
    messages,
  });
  const keys = (name: string, change: (units: AccessUnit, key: number) => readonly AccessUnit[]) =>
    make(name, changeKeys(plain, format, change));
  const apart = (units: AccessUnit) => parts(units, format);
  return [
    make('plain', plain.map(join)),
    keys('sets in reverse order in every key frame', (units) => {
      const { sets, slices, rest } = apart(units);
      return [[...rest, ...sets.toReversed(), ...slices]];
    }),
    keys('sets in another order in each key frame', (units, key) => {
      const { sets, slices, rest } = apart(units);
      return [[...rest, ...rotated(sets, key), ...slices]];
    }),
    keys('sets before the delimiter, messages last', (units) => {
      const { sets, slices, rest } = apart(units);
      return [[...sets, ...rest, ...slices]];
    }),
    keys('sets twice', (units) => {
      const { sets, slices, rest } = apart(units);
      return [[...rest, ...sets, ...sets, ...slices]];
    }),
    keys('sets with a message between them', (units) => {
      const { sets, slices, rest } = apart(units);
      return [[...sets.flatMap((set) => [set, ...rest.slice(1)]), ...slices]];
    }),
    keys('sets in a message of their own', (units) => {
      const { sets, slices, rest } = apart(units);
      return [sets, [...rest, ...slices]];
    }),
    keys('each set in a message of its own, in reverse', (units) => {
      const { sets, slices, rest } = apart(units);
      return [...sets.toReversed().map((set) => [set]), [...rest, ...slices]];
    }),
    keys('sets at the start only', (units, key) => {
      const { slices, rest } = apart(units);
      return key === 0 ? [units] : [[...rest, ...slices]];
    }),
    keys('picture parameters at the start only', (units, key) => {
      const { sets, slices, rest } = apart(units);
      return key === 0 ? [units] : [[...rest, ...sets.slice(0, -1), ...slices]];
    }),
    keys('sequence parameters at the start only', (units, key) => {
      const { sets, slices, rest } = apart(units);
      return key === 0 ? [units] : [[...rest, ...sets.slice(-1), ...slices]];
    }),
    make('sets behind the slices of the frame before', endingInSets(plain, format)),
    make(
      'sets in every frame',
      plain.map((units) => {
        const { sets } = apart(plain[0] ?? []);
        const { slices, rest } = apart(units);
        return join([...rest, ...sets, ...slices]);
      }),
    ),
    make(
      'sets in every frame in another order each',
      plain.map((units, index) => {
        const { sets } = apart(plain[0] ?? []);
        const { slices, rest } = apart(units);
        return join([...rest, ...rotated(sets, index), ...slices]);
      }),
    ),
    make(
      'other sets in every second key frame',
      plain.map((units, index) => join((Math.floor(index / 10) % 2 === 0 ? plain : another)[index] ?? units)),
    ),
    make(
      'no delimiters, no messages',
      plain.map((units) => join(units.filter((unit) => isSet(unit, format) || isSlice(unit, format)))),
    ),
    make(
      'start codes of three bytes, zeros behind',
      plain.map((units) =>
        Buffer.concat([...units.flatMap((unit) => [startCode.subarray(1), unit]), Buffer.alloc(9)]),
      ),
    ),
    make('several slices', encode(format, `${latency}:${slices[format]}`).map(join)),
    { ...make('reordered frames', encode(format, 'bframes=2').map(join)), keptBack: 4 },
    {
      ...make(
        'reordered, sets in another order in each key frame',
        changeKeys(encode(format, 'bframes=2'), format, (units, key) => {
          const { sets, slices, rest } = apart(units);
          return [[...rest, ...rotated(sets, key), ...slices]];
        }),
      ),
      keptBack: 4,
    },
    { ...make('reordered across key frames', encode(format, 'bframes=2:open-gop=1').map(join)), keptBack: 4 },
  ];
}

function endingInSets(plain: readonly AccessUnit[], format: CodedFormat): Buffer[] {
  return plain.map((units, index) => {
    const next = parts(plain[index + 1] ?? [], format).sets;
    const own = index === 0 ? units : units.filter((unit) => !isSet(unit, format));
    return join([...own, ...next]);
  });
}

function kindsOfH264(): UnusualStream[] {
  const latency = 'bframes=0:rc-lookahead=0:sync-lookahead=0';
  const make = (
    name: string,
    options: string,
    more: readonly string[] = [],
    keptBack = 0,
  ): UnusualStream => ({
    name: `h264: ${name}`,
    format: 'h264',
    messages: encode('h264', options === '' ? latency : `${latency}:${options}`, more).map(join),
    keptBack,
  });
  const refresh = make('refreshed by columns', 'intra-refresh=1');
  return [
    make('set ids 5', 'sps-id=5'),
    make('baseline', '', ['-profile:v', 'baseline']),
    make('4:2:2', '', ['-pix_fmt', 'yuv422p']),
    make('4:4:4', '', ['-pix_fmt', 'yuv444p']),
    make('grey', '', ['-pix_fmt', 'gray']),
    make('10 bits', '', ['-pix_fmt', 'yuv420p10le']),
    make('10 bits 4:2:2', '', ['-pix_fmt', 'yuv422p10le']),
    make('interlaced', 'tff=1', ['-flags', '+ildct+ilme']),
    make('lossless', 'qp=0'),
    make('I frames alone', 'keyint=1:min-keyint=1'),
    make('I frames alone, one IDR', 'keyint=300:min-keyint=300', [
      '-force_key_frames',
      'expr:0',
      '-bf',
      '0',
      '-g',
      '300',
    ]),
    refresh,
    { ...refresh, name: 'h264: refreshed by columns, from its middle', messages: refresh.messages.slice(5) },
    make('full range', 'fullrange=on'),
  ];
}

function kindsOfH265(): UnusualStream[] {
  const make = (name: string, options: string, more: readonly string[] = []): UnusualStream => ({
    name: `h265: ${name}`,
    format: 'h265',
    messages: encode('h265', options === '' ? 'bframes=0' : `bframes=0:${options}`, more).map(join),
  });
  return [
    make('10 bits', '', ['-pix_fmt', 'yuv420p10le']),
    make('4:4:4', '', ['-pix_fmt', 'yuv444p']),
    make('grey', '', ['-pix_fmt', 'gray']),
    make('hashes', 'hash=1'),
    make('lossless', 'lossless=1'),
  ];
}

function damaged(): UnusualStream[] {
  return (['h264', 'h265'] as const).flatMap((format) => {
    const latency = format === 'h264' ? 'bframes=0:rc-lookahead=0:sync-lookahead=0' : 'bframes=0';
    const sliced = encode(format, `${latency}:${slices[format]}`);
    const whole = encode(format, latency);
    const chance = chanceFrom(3);
    const make = (name: string, messages: readonly Buffer[], keptBack = 0): UnusualStream => ({
      name: `${format}: ${name}`,
      format,
      messages: messages.filter(({ length }) => length > 0),
      isPaintedOver: true,
      keptBack,
    });
    return [
      make(
        'a slice lost in every fifth frame',
        sliced.map((units, index) =>
          join(index % 5 === 3 ? units.filter((_, at) => at !== units.length - 2) : units),
        ),
      ),
      make(
        'the first slice lost in every fifth frame',
        sliced.map((units, index) =>
          join(
            index % 5 === 3
              ? units.filter((unit) => unit !== units.find((one) => isSlice(one, format)))
              : units,
          ),
        ),
      ),
      make(
        'a slice lost in every key frame',
        sliced.map((units, index) => join(index % 10 === 0 ? units.slice(0, -1) : units)),
      ),
      make(
        'every fifth frame lost',
        whole.map((units, index) => (index % 5 === 3 ? Buffer.alloc(0) : join(units))),
      ),
      make(
        'a key frame lost',
        whole.map((units, index) => (index === 10 ? Buffer.alloc(0) : join(units))),
      ),
      make(
        'every fifth frame cut in half',
        whole.map((units, index) => {
          const bytes = join(units);
          return index % 5 === 3 ? bytes.subarray(0, bytes.length / 2) : bytes;
        }),
      ),
      make(
        'every fifth frame with bytes overwritten',
        whole.map((units, index) => {
          const bytes = join(units);
          if (index % 5 === 3)
            for (let hit = 0; hit < 5; hit += 1)
              bytes[30 + chance.below(bytes.length - 30)] = chance.below(256);
          return bytes;
        }),
      ),
      make(
        'every fifth frame twice',
        whole.flatMap((units, index) => (index % 5 === 3 ? [join(units), join(units)] : [join(units)])),
      ),
      make(
        'garbage behind every frame',
        whole.map((units) => Buffer.concat([join(units), Buffer.alloc(40, 0x55)])),
      ),
    ];
  });
}
