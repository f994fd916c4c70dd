/**
 * A synchronous chain of filters from one input picture to one output picture. The filters are linked by hand, because FFmpeg's parser
 * of filter descriptions leaks memory.
 */
import type { AVBufferSrcFlag } from 'node-av/constants';
import type { FilterContext, FilterGraph, Frame } from 'node-av/lib';
import type { Size } from '../../model/call.ts';
import type { Reduction } from '../geometry/picture-plan.ts';
import type { Engine } from './engine.ts';
import { freeNatives, makeFrame, makeGraph } from './native-census.ts';

/** Properties of the input that a chain is built for; any change needs a new chain. */
export interface PictureTraits {
  readonly width: number;
  readonly height: number;
  readonly format: number;
  readonly colorSpace: number;
  readonly colorRange: number;
  /** Factor by which the source is larger than this picture. */
  readonly reduction: Reduction;
}

export function traitsOf(frame: Frame, reduction: Reduction = 1): PictureTraits {
  const { width, height, format, colorSpace, colorRange } = frame;
  return { width, height, format, colorSpace, colorRange, reduction };
}

export function sourceSize({
  width,
  height,
  reduction,
}: Pick<PictureTraits, 'width' | 'height' | 'reduction'>): Size {
  return { width: width * reduction, height: height * reduction };
}

export function haveSameTraits(one: PictureTraits, other: PictureTraits): boolean {
  return (
    one.width === other.width &&
    one.height === other.height &&
    one.format === other.format &&
    one.colorSpace === other.colorSpace &&
    one.colorRange === other.colorRange &&
    one.reduction === other.reduction
  );
}

export type FilterStep = readonly [filter: string, settings: string];

export class FilterChain {
  readonly #graph: FilterGraph;
  readonly #entry: FilterContext;
  readonly #exit: FilterContext;
  readonly #filtered: Frame;
  readonly #keepReference: AVBufferSrcFlag;

  /** Throws what the engine throws. */
  static build(engine: Engine, source: PictureTraits, steps: readonly FilterStep[]): FilterChain {
    const graph = makeGraph(engine);
    try {
      graph.nbThreads = 1;
      const { entry, exit } = link(engine, graph, [entryStep(source), ...steps, ['buffersink', '']]);
      const status = graph.configSync();
      if (status < 0) throw new Error(`FFmpeg does not configure its filters: ${status}`);
      return new FilterChain(engine, graph, entry, exit);
    } catch (error) {
      freeNatives(graph);
      throw error;
    }
  }

  private constructor(engine: Engine, graph: FilterGraph, entry: FilterContext, exit: FilterContext) {
    this.#filtered = makeFrame(engine);
    this.#graph = graph;
    this.#entry = entry;
    this.#exit = exit;
    this.#keepReference = engine.constants.AV_BUFFERSRC_FLAG_KEEP_REF;
  }

  /** The result is valid until the next call. Null: it failed. */
  filter(source: Frame): Frame | null {
    this.#filtered.unref();
    if (this.#entry.buffersrcAddFrameSync(source, this.#keepReference) < 0) return null;
    return this.#exit.buffersinkGetFrameSync(this.#filtered) < 0 ? null : this.#filtered;
  }

  close(): void {
    freeNatives(this.#filtered, this.#graph);
  }
}

function entryStep({ width, height, format, colorSpace, colorRange }: PictureTraits): FilterStep {
  const colours = `colorspace=${colorSpace}:range=${colorRange}`;
  return ['buffer', `video_size=${width}x${height}:pix_fmt=${format}:time_base=1/1000:${colours}`];
}

function link(
  { av }: Engine,
  graph: FilterGraph,
  steps: readonly FilterStep[],
): { entry: FilterContext; exit: FilterContext } {
  const filters = steps.map(([name, settings]) => {
    const filter = av.Filter.getByName(name);
    const context =
      filter === null ? null : graph.createFilter(filter, name, settings === '' ? null : settings);
    if (context === null) throw new Error(`FFmpeg has no filter ${name}`);
    return context;
  });
  const exit = filters.reduce((before, next) => {
    const status = before.link(0, next, 0);
    if (status < 0) throw new Error(`FFmpeg does not link its filters: ${status}`);
    return next;
  });
  return { entry: filters[0] ?? exit, exit };
}
