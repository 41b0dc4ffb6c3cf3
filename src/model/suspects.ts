/*
 * Who is to blame when a process dies is not known: everything in flight in it gets one crash more
 * on its count, and is a suspect. How a suspect runs next depends on that count
 * (docs/decisions/0007):
 *
 *   1    beside anything else: one death says nothing about any of many
 *   2    beside anything else, but no more than `MOST_TOGETHER` of them at once in a process
 *   3, 4 alone in its process: a death is then its own doing
 *   5    buried: it has killed a process twice while nothing else ran there
 *
 * A run that ends in any other way clears the count.
 */

/**
 * From this count on, suspects are looked for apart from other work; also in the migration that
 * made their index.
 */
export const TOGETHER_FROM = 2
export const ALONE_FROM = 3
/**
 * Twice alone: a process can die for a reason of its own during one run, and the operator is told
 * of poison.
 */
export const BURIED_AT = 5
/**
 * The innocents among them have to run alone next, while all other work of their process waits:
 * they should be few.
 */
export const MOST_TOGETHER = 4
