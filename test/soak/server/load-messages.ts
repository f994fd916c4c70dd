/** What the soak and the process that loads its server say to each other. */
import type { SoakHooks } from './plan.ts';

export type LoadOrder =
  | {
      readonly kind: 'start';
      /** Of samples. */
      readonly file: string;
      readonly ports: {
        readonly api: number;
        readonly sleep: number;
        readonly signal: number;
        readonly media: number;
      };
    }
  | { readonly kind: 'stop' };

/** `hooks`: where webhooks are received, which the registry has to name. `asleep`: all devices are. */
export type LoadReport = { readonly kind: 'hooks'; readonly hooks: SoakHooks } | { readonly kind: 'asleep' };
