/** Open pull requests of one consumer: how much they may still bring. */

/** The requests. The server serves them in turn, and a message does not say which one it answers. */
export interface PullRequests {
  /** How many messages are still to come at most. */
  readonly open: number;
  /** Notes a new request and gives its number. */
  ask(count: number): number;
  /** Notes a message: the oldest request brought it. */
  delivered(): void;
  /** Notes that a request will bring no more. */
  ended(id: number): void;
}

/** Begins without any. */
export function createPullRequests(): PullRequests {
  const left = new Map<number, number>();
  let open = 0;
  let lastId = 0;
  return {
    get open() {
      return open;
    },
    ask(count) {
      left.set(++lastId, count);
      open += count;
      return lastId;
    },
    delivered() {
      const [oldest] = left;
      if (oldest === undefined) return;
      open--;
      if (oldest[1] === 1) left.delete(oldest[0]);
      else left.set(oldest[0], oldest[1] - 1);
    },
    ended(id) {
      open -= left.get(id) ?? 0;
      left.delete(id);
    },
  };
}
