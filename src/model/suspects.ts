/*
 * When a process dies, the guilty job is not known. Every job and message in flight becomes a
 * suspect: its count of crashes rises by one. The count decides how it runs next
 * (docs/decisions/0007):
 *
 *   1    beside any other work: one crash proves nothing
 *   2    beside any other work, but at most `MOST_TOGETHER` suspects at once per process
 *   3, 4 alone in its process: if the process dies again, the job did it
 *   5    buried: it has killed a process twice while nothing else ran there
 *
 * A run that ends without a crash clears the count.
 */

/**
 * From this count on, suspects are claimed separately from other work. Their index in migration
 * 0008 repeats the number.
 */
export const TOGETHER_FROM = 2
export const ALONE_FROM = 3
/**
 * Two crashes alone: a single crash may have another cause, and a buried job alarms the operator.
 */
export const BURIED_AT = 5
/**
 * If suspects crash together, each of them must run alone next, while other work in its process
 * waits. So this number is small.
 */
export const MOST_TOGETHER = 4
