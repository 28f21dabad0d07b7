; The controller of the flash request scheduling framework (Kim, Lee and Min): one program for each
; kind of bus request. The command bytes are those of ONFI. SND ends a request; the next one begins
; at the first line.

        RCV
        DSP EA, PP, ID, PA, RA, OD, ST

EA:     CE+ chip        ; erase a block
        CMD 60h
        ADR row0
        ADR row1
        ADR row2
        CMD D0h
        WAIT tWB
        CE-
        SND r0

PP:     CE+ chip        ; name the page that the data are for
        CMD 80h
        ADR col0
        ADR col1
        ADR row0
        ADR row1
        ADR row2
        WAIT tADL
        CE-
        SND r0

ID:     CE+ chip        ; move data to the chip
        CMD 85h
        ADR col0
        ADR col1
        WAIT tCCS
        DIN len
        CE-
        SND r0

PA:     CE+ chip        ; program the data
        CMD 10h
        WAIT tWB
        CE-
        SND r0

RA:     CE+ chip        ; read a page
        CMD 00h
        ADR col0
        ADR col1
        ADR row0
        ADR row1
        ADR row2
        CMD 30h
        WAIT tWB
        CE-
        SND r0

OD:     CE+ chip        ; move data from the chip
        CMD 05h
        ADR col0
        ADR col1
        CMD E0h
        WAIT tCCS
        DOUT len
        CE-
        SND r0

ST:     CE+ chip        ; ask for the status
        CMD 70h
        WAIT tWHR
        RDR r1
        CE-
        SND r1
