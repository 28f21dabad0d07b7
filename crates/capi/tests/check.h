/* A check that ends a test in C. */

#ifndef FLASHYARD_CHECK_H
#define FLASHYARD_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(what)                                             \
    do {                                                        \
        if (!(what)) {                                          \
            fprintf(stderr, "line %d: %s\n", __LINE__, #what);  \
            exit(EXIT_FAILURE);                                 \
        }                                                       \
    } while (0)

#endif
