/** Whether pictures are those of the reference: their colours by regression, their structure by similarity. */
import { regress } from '../support/plane-regression.ts';
import { planeNames, type Plane, type PlaneName, type Planes } from '../support/planes.ts';
import { planeSimilarity } from '../support/ssim.ts';

/** Source: issue "The media path", Must hold. */
const gainErrorMax = 0.02;
const offsetErrorMax = 1.5;
const similarityMin = 0.97;
/** A plane with less in it than this has no contrast whose gain could be told from noise. */
const deviationMin = 4;

/** Where a plane is black, or without colour. */
const origins: Readonly<Record<PlaneName, number>> = { Y: 0, U: 128, V: 128 };

export interface Judgement {
  /** Empty: they are. */
  readonly complaints: readonly string[];
  /** One line of what was measured. */
  readonly measured: string;
}

/** As many pictures of each, of one size. */
export function judgePictures(ours: readonly Planes[], reference: readonly Planes[]): Judgement {
  if (ours.length === 0 || ours.length !== reference.length)
    return { complaints: [`${ours.length} pictures for ${reference.length}`], measured: '' };
  const findings = planeNames.flatMap((name) => {
    const planes = ours.map((picture) => picture[name]);
    const referencePlanes = reference.map((picture) => picture[name]);
    return [judgeColour(name, planes, referencePlanes), judgeStructure(name, planes, referencePlanes)];
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

/** The mean over the pictures counts; the worst of them is told. */
function judgeStructure(name: PlaneName, ours: readonly Plane[], reference: readonly Plane[]): Finding {
  const each = ours.map((plane, index) => planeSimilarity(plane, reference[index] ?? plane));
  const mean = each.reduce((sum, similarity) => sum + similarity, 0) / each.length;
  const measured = `${name} similarity ${mean.toFixed(4)}, at least ${Math.min(...each).toFixed(4)}`;
  return { isRight: mean >= similarityMin, measured };
}
