/** Sines as calls carry them, and what of them is found again in samples: level, and what else is in there. */

/** Of full scale. */
export const sineLevel = 0.25;
const fullScale = 32_768;

export interface SineShape {
  readonly rate: number;
  /** Hz, of each channel. */
  readonly tones: readonly number[];
}

/** `fromMs`: where on the sine it begins; interleaved. */
export function sine({ rate, tones }: SineShape, fromMs: number, lengthMs: number): Int16Array<ArrayBuffer> {
  const first = Math.round((fromMs * rate) / 1000);
  const samples = new Int16Array(Math.round((lengthMs * rate) / 1000) * tones.length);
  for (let at = 0; at < samples.length; at += 1) {
    const turns = ((tones[at % tones.length] ?? 0) * (first + Math.floor(at / tones.length))) / rate;
    samples[at] = Math.round(fullScale * sineLevel * Math.sin(2 * Math.PI * turns));
  }
  return samples;
}

/** One of interleaved channels. */
export function channelOf(samples: Int16Array, channel: number, channels: number): Int16Array {
  return samples.filter((_, at) => at % channels === channel);
}

export interface ToneView {
  /** Of full scale. */
  readonly level: number;
  /** Decibels of the tone above all that is not the tone. */
  readonly snr: number;
}

/** Fits the tone to the samples of one channel: the sine and cosine that leave least, by least squares. */
export function findTone(samples: Int16Array, rate: number, tone: number): ToneView {
  const step = (2 * Math.PI * tone) / rate;
  let [sines, cosines, both, bySine, byCosine, energy] = [0, 0, 0, 0, 0, 0];
  for (const [at, sample] of samples.entries()) {
    const [s, c] = [Math.sin(step * at), Math.cos(step * at)];
    sines += s * s;
    cosines += c * c;
    both += s * c;
    bySine += s * sample;
    byCosine += c * sample;
    energy += sample * sample;
  }
  const determinant = sines * cosines - both * both;
  const a = (bySine * cosines - byCosine * both) / determinant;
  const b = (byCosine * sines - bySine * both) / determinant;
  const explained = a * bySine + b * byCosine;
  const left = Math.max(energy - explained, samples.length / 12);
  return { level: Math.hypot(a, b) / fullScale, snr: 10 * Math.log10(explained / left) };
}

/** The frequency that is strongest, Hz, to within a tenth of one. */
export function strongestTone(samples: Int16Array, rate: number): number {
  let strongest = { tone: 0, level: -1 };
  const look = (from: number, to: number, step: number): void => {
    for (let tone = from; tone <= to; tone += step) {
      const { level } = findTone(samples, rate, tone);
      if (level > strongest.level) strongest = { tone, level };
    }
  };
  look(50, rate / 2 - 50, Math.min(20, rate / samples.length));
  const { tone } = strongest;
  look(tone - 10, tone + 10, 0.1);
  return strongest.tone;
}
