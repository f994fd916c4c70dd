/** Generates sines as calls carry them, and analyses samples: frequency, level, and the noise. */

/** Fraction of full scale. */
export const sineLevel = 0.25;
const fullScale = 32_768;

export interface SineShape {
  readonly rate: number;
  /** Tones of each channel, Hz; they share its level. */
  readonly chords: readonly (readonly number[])[];
}

/** `fromMs`: position in the sines at which the samples start; interleaved. */
export function sine({ rate, chords }: SineShape, fromMs: number, lengthMs: number): Int16Array<ArrayBuffer> {
  const first = Math.round((fromMs * rate) / 1000);
  const channels = chords.length;
  const samples = new Int16Array(Math.round((lengthMs * rate) / 1000) * channels);
  for (let at = 0; at < samples.length; at += 1) {
    const tones = chords[at % channels] ?? [];
    const step = (2 * Math.PI * (first + Math.floor(at / channels))) / rate;
    const sum = tones.reduce((all, tone) => all + Math.sin(step * tone), 0);
    samples[at] = Math.round((fullScale * sineLevel * sum) / tones.length);
  }
  return samples;
}

export function channelOf(samples: Int16Array, channel: number, channels: number): Int16Array {
  return samples.filter((_, at) => at % channels === channel);
}

export interface TonesView {
  /** Levels as a fraction of full scale, in the order of the tones. */
  readonly levels: readonly number[];
  /** Signal-to-noise ratio, decibels. */
  readonly snr: number;
}

/** `samples`: one channel. Over its length, any two tones differ by at least half a period. */
export function findTones(samples: Int16Array, rate: number, tones: readonly number[]): TonesView {
  const left = Float64Array.from(samples);
  const whole = energyOf(left);
  const levels = tones.map((tone) => {
    const waves = fitTone(left, rate, tone);
    subtract(left, waves);
    return Math.hypot(waves.sine, waves.cosine) / fullScale;
  });
  // Rounding to whole samples adds at least this much noise.
  const rest = Math.max(energyOf(left), samples.length / 12);
  return { levels, snr: 10 * Math.log10(Math.max(whole - rest, 1) / rest) };
}

export function findTone(samples: Int16Array, rate: number, tone: number): { level: number; snr: number } {
  const { levels, snr } = findTones(samples, rate, [tone]);
  return { level: levels[0] ?? 0, snr };
}

/** The strongest frequency below 4 kHz, Hz, accurate to half a hertz; uses a tenth of a second. */
export function strongestTone(samples: Int16Array, rate: number): number {
  const some = Float64Array.from(samples.subarray(0, rate / 10));
  const strongest = (from: number, to: number, step: number): number => {
    let found = { tone: from, level: -1 };
    for (let tone = from; tone <= to; tone += step) {
      const { sine: s, cosine } = fitTone(some, rate, tone);
      const level = Math.hypot(s, cosine);
      if (level > found.level) found = { tone, level };
    }
    return found.tone;
  };
  const near = strongest(50, 3950, 10);
  return strongest(near - 10, near + 10, 0.5);
}

interface Waves {
  readonly step: number;
  readonly sine: number;
  readonly cosine: number;
}

/** Fits sine and cosine by least squares. */
function fitTone(samples: Float64Array, rate: number, tone: number): Waves {
  const step = (2 * Math.PI * tone) / rate;
  let [sines, cosines, both, bySine, byCosine] = [0, 0, 0, 0, 0];
  for (let at = 0; at < samples.length; at += 1) {
    const [s, c, sample] = [Math.sin(step * at), Math.cos(step * at), samples[at] ?? 0];
    sines += s * s;
    cosines += c * c;
    both += s * c;
    bySine += s * sample;
    byCosine += c * sample;
  }
  const determinant = sines * cosines - both * both;
  const a = (bySine * cosines - byCosine * both) / determinant;
  const b = (byCosine * sines - bySine * both) / determinant;
  return { step, sine: a, cosine: b };
}

function subtract(samples: Float64Array, { step, sine: a, cosine: b }: Waves): void {
  for (let at = 0; at < samples.length; at += 1)
    samples[at] = (samples[at] ?? 0) - a * Math.sin(step * at) - b * Math.cos(step * at);
}

function energyOf(samples: Float64Array): number {
  return samples.reduce((energy, sample) => energy + sample * sample, 0);
}
