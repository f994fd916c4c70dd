/** Compares pictures with those of the reference: their colours by regression, their structure by similarity. */
import { planeNames, type Plane, type PlaneName, type Planes } from '../support/planes.ts';
import { planeSimilarity } from '../support/ssim.ts';

/** Source: issue "The media path", Must hold. */
const gainErrorMax = 0.02;
const offsetErrorMax = 1.5;
const usualSimilarityMin = 0.97;
/** A plane with less contrast than this is noise, whose gain cannot be measured. */
const deviationMin = 4;

/** Value of a plane that is black, or without colour. */
const origins: Readonly<Record<PlaneName, number>> = { Y: 0, U: 128, V: 128 };

export interface Judgement {
  /** Empty: they match. */
  readonly complaints: readonly string[];
  /** One line with the measurements. */
  readonly measured: string;
}

/** As many pictures of each, of one size. */
export function judgePictures(
  ours: readonly Planes[],
  reference: readonly Planes[],
  similarityMin = usualSimilarityMin,
): Judgement {
  if (ours.length === 0 || ours.length !== reference.length)
    return { complaints: [`${ours.length} pictures for ${reference.length}`], measured: '' };
  const findings = planeNames.flatMap((name) => {
    const planes = ours.map((picture) => picture[name]);
    const referencePlanes = reference.map((picture) => picture[name]);
    return [
      judgeColour(name, planes, referencePlanes),
      judgeStructure(name, planes, referencePlanes, similarityMin),
    ];
  });
  return {
    complaints: findings.filter(({ isRight }) => !isRight).map(({ measured }) => measured),
    measured: findings.map(({ measured }) => measured).join('; '),
  };
}

interface Finding {
  readonly isRight: boolean;
  readonly measured: string;
}

function judgeColour(name: PlaneName, ours: readonly Plane[], reference: readonly Plane[]): Finding {
  const { gain, offset, deviation, shift } = regress(ours, reference, origins[name]);
  if (deviation < deviationMin)
    return { isRight: Math.abs(shift) <= offsetErrorMax, measured: `${name} shift ${shift.toFixed(2)}` };
  return {
    isRight: Math.abs(gain - 1) <= gainErrorMax && Math.abs(offset) <= offsetErrorMax,
    measured: `${name} gain ${gain.toFixed(4)} offset ${offset.toFixed(2)}`,
  };
}

/** The mean over the pictures counts; the worst of them is reported. */
function judgeStructure(
  name: PlaneName,
  ours: readonly Plane[],
  reference: readonly Plane[],
  similarityMin: number,
): Finding {
  const each = ours.map((plane, index) => planeSimilarity(plane, reference[index] ?? plane));
  const mean = each.reduce((sum, similarity) => sum + similarity, 0) / each.length;
  const measured = `${name} similarity ${mean.toFixed(4)}, at least ${Math.min(...each).toFixed(4)}`;
  return { isRight: mean >= similarityMin, measured };
}

interface Regression {
  /** Slope of the line; 1: the same contrast. NaN if the reference has only one value. */
  readonly gain: number;
  /** Value of the line where the reference has `origin`. */
  readonly offset: number;
  /** Contrast of the reference, in steps of one. */
  readonly deviation: number;
  /** Mean of ours less mean of the reference. */
  readonly shift: number;
}

/** Fits all planes of `ours` on all of `reference`. They form pairs, and the two of a pair have one size. */
function regress(ours: readonly Plane[], reference: readonly Plane[], origin: number): Regression {
  let count = 0;
  let sumX = 0;
  let sumY = 0;
  let sumXX = 0;
  let sumXY = 0;
  for (const [index, { samples: ys }] of ours.entries()) {
    const xs = reference[index]?.samples ?? new Uint8Array();
    if (xs.length !== ys.length) throw new Error('planes that do not pair up');
    count += ys.length;
    for (let at = 0; at < ys.length; at++) {
      const x = (xs[at] ?? 0) - origin;
      const y = (ys[at] ?? 0) - origin;
      sumX += x;
      sumY += y;
      sumXX += x * x;
      sumXY += x * y;
    }
  }
  const meanX = sumX / count;
  const meanY = sumY / count;
  const variance = sumXX / count - meanX * meanX;
  const gain = (sumXY / count - meanX * meanY) / variance;
  return { gain, offset: meanY - gain * meanX, deviation: Math.sqrt(variance), shift: meanY - meanX };
}
