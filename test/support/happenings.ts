/** Things that happen in a fake: a test waits for them without a clock. */
import { EventEmitter, once } from 'node:events';

export class Happenings {
  readonly #events = new EventEmitter().setMaxListeners(0);

  readonly happened = (): void => {
    this.#events.emit('happened');
  };

  /** Resolves when it is so, looked at whenever something happens here. */
  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await once(this.#events, 'happened');
  }

  /** The one that came as the so-manieth, which is there or comes. */
  protected async nth<Item>(items: readonly Item[], count: number): Promise<Item> {
    await this.until(() => items.length >= count);
    const item = items[count - 1];
    if (item === undefined) throw new Error('there is none');
    return item;
  }
}
